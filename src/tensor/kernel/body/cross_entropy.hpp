#pragma once

#include <limits>

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
      losses[r] = targets[r] < 0 ? 0.0 : exact - hit(row, targets[r]);
    }
  }
  /// The target's logit, NaN for a target that is no class.
  SHERD_KERNEL_INLINE double hit(const T* row, std::int32_t target) const {
    return target < classes ? static_cast<double>(load(row[target]))
                            : std::numeric_limits<double>::quiet_NaN();
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
      const bool hits = targets[r] >= 0 && targets[r] < classes;
      // The target's logit, before `out` may replace it.
      const A hit = hits ? load(row[targets[r]]) : A{0};
#pragma omp simd
      for (std::int64_t j = 0; j < classes; ++j) {
        out[j] = store<T>(row_scale * exp_bounded(load(row[j]) - row_lse));
      }
      if (hits) {
        out[targets[r]] = store<T>(row_scale * (exp_bounded(hit - row_lse) - A{1}));
      }
    }
  }
};

}  // namespace sherd::kernel
