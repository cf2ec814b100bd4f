#pragma once

#include "tensor/kernel/scalar.hpp"

namespace sherd::kernel {

template <class T>
struct Add {
  static constexpr std::int64_t grain = 16384;
  const T* a;
  const T* b;
  T* out;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      out[i] = store<T>(load(a[i]) + load(b[i]));
    }
  }
};

template <class X, class Y>
struct ScaleInto {
  using A =
      std::conditional_t<std::is_same_v<X, double> || std::is_same_v<Y, double>, double, float>;
  static constexpr std::int64_t grain = 16384;
  const X* x;
  Y* y;
  A alpha;
  bool accumulate;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    if (accumulate) {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) {
        y[i] = store<Y>(static_cast<A>(load(y[i])) + alpha * static_cast<A>(load(x[i])));
      }
    } else {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) {
        y[i] = store<Y>(alpha * static_cast<A>(load(x[i])));
      }
    }
  }
};

/// Rows are the items.
template <class T>
struct AddBias {
  static constexpr std::int64_t grain = 16;
  const T* x;
  const T* bias;
  T* y;
  std::int64_t dim;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t r = begin; r < end; ++r) {
#pragma omp simd
      for (std::int64_t j = 0; j < dim; ++j) {
        y[r * dim + j] = store<T>(load(x[r * dim + j]) + load(bias[j]));
      }
    }
  }
};

/// Columns are the items; rows are summed in order.
template <class T>
struct SumRows {
  static constexpr std::int64_t grain = 64;
  const T* dy;
  Compute<T>* dbias;
  std::int64_t rows;
  std::int64_t dim;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t r = 0; r < rows; ++r) {
#pragma omp simd
      for (std::int64_t j = begin; j < end; ++j) {
        dbias[j] += load(dy[r * dim + j]);
      }
    }
  }
};

}  // namespace sherd::kernel
