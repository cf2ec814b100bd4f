#pragma once

#include "tensor/kernel/scalar.hpp"

namespace sherd::kernel {

template <class From, class To>
struct Convert {
  static constexpr std::int64_t grain = 16384;
  const From* from;
  To* to;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      to[i] = store<To>(load(from[i]));
    }
  }
};

}  // namespace sherd::kernel
