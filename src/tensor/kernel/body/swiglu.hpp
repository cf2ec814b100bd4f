#pragma once

#include "tensor/kernel/scalar.hpp"

namespace sherd::kernel {

template <class T>
struct SwigluForward {
  static constexpr std::int64_t grain = 16384;
  const T* gate;
  const T* up;
  T* y;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    using A = Compute<T>;
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      const A g = load(gate[i]);
      const A silu = g / (A{1} + exp_bounded(-g));
      y[i] = store<T>(silu * load(up[i]));
    }
  }
};

template <class T>
struct SwigluBackward {
  static constexpr std::int64_t grain = 16384;
  const T* gate;
  const T* up;
  const T* dy;
  T* dgate;
  T* dup;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    using A = Compute<T>;
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      const A g = load(gate[i]);
      const A u = load(up[i]);
      const A d = load(dy[i]);
      const A sigmoid = A{1} / (A{1} + exp_bounded(-g));
      const A silu = g * sigmoid;
      dgate[i] = store<T>(d * u * (sigmoid + silu * (A{1} - sigmoid)));
      dup[i] = store<T>(d * silu);
    }
  }
};

}  // namespace sherd::kernel
