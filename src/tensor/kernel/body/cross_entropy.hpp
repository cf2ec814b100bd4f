#pragma once

#include "tensor/kernel/scalar.hpp"

namespace sherd::kernel {

/// Rows are the items.
template <class T>
struct CrossEntropyForward {
  static constexpr std::int64_t grain = 8;
  const T* logits;
  const std::int32_t* targets;
  Compute<T>* lse;
  double* losses;
  std::int64_t classes;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    using A = Compute<T>;
    for (std::int64_t r = begin; r < end; ++r) {
      const T* row = logits + r * classes;
      A most = load(row[0]);
#pragma omp simd reduction(max : most)
      for (std::int64_t j = 0; j < classes; ++j) {
        const A value = load(row[j]);
        most = value > most ? value : most;
      }
      A sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t j = 0; j < classes; ++j) {
        sum += exp_bounded(load(row[j]) - most);
      }
      const double exact = static_cast<double>(most) + std::log(static_cast<double>(sum));
      lse[r] = static_cast<A>(exact);
      losses[r] = targets[r] < 0 ? 0.0 : exact - static_cast<double>(load(row[targets[r]]));
    }
  }
};

template <class T>
struct CrossEntropyBackward {
  static constexpr std::int64_t grain = 8;
  const T* logits;
  const std::int32_t* targets;
  const Compute<T>* lse;
  T* dlogits;
  std::int64_t classes;
  Compute<T> scale;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    using A = Compute<T>;
    for (std::int64_t r = begin; r < end; ++r) {
      const T* row = logits + r * classes;
      T* out = dlogits + r * classes;
      const A row_scale = targets[r] < 0 ? A{0} : scale;
      const A row_lse = lse[r];
      // The target's logit, before `out` may replace it.
      const A hit = targets[r] < 0 ? A{0} : load(row[targets[r]]);
#pragma omp simd
      for (std::int64_t j = 0; j < classes; ++j) {
        out[j] = store<T>(row_scale * exp_bounded(load(row[j]) - row_lse));
      }
      if (targets[r] >= 0) {
        out[targets[r]] = store<T>(row_scale * (exp_bounded(hit - row_lse) - A{1}));
      }
    }
  }
};

}  // namespace sherd::kernel
