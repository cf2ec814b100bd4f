#pragma once

#include "tensor/kernel/scalar.hpp"

namespace sherd::kernel {

template <class T>
struct RmsNormForward {
  static constexpr std::int64_t grain = 8;
  const T* x;
  const T* weight;
  T* y;
  Compute<T>* inv_rms;
  std::int64_t dim;
  Compute<T> eps;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    using A = Compute<T>;
    for (std::int64_t r = begin; r < end; ++r) {
      const T* row = x + r * dim;
      T* out = y + r * dim;
      A sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t j = 0; j < dim; ++j) {
        sum += load(row[j]) * load(row[j]);
      }
      const A inv = A{1} / std::sqrt(sum / static_cast<A>(dim) + eps);
      inv_rms[r] = inv;
#pragma omp simd
      for (std::int64_t j = 0; j < dim; ++j) {
        out[j] = store<T>(load(row[j]) * inv * load(weight[j]));
      }
    }
  }
};

/// Rows are the items: dx of a row, and, where `dweight` is set, this row's share added to it. With
/// `dweight` the rows must run one after the other.
template <class T>
struct RmsNormBackward {
  static constexpr std::int64_t grain = 8;
  const T* x;
  const T* weight;
  const Compute<T>* inv_rms;
  const T* dy;
  T* dx;                // may be null
  Compute<T>* dweight;  // may be null
  std::int64_t dim;
  bool accumulate_dx;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t r = begin; r < end; ++r) {
      const T* row = x + r * dim;
      const T* grad = dy + r * dim;
      if (dx != nullptr) {
        input_row(row, grad, dx + r * dim, inv_rms[r]);
      }
      if (dweight != nullptr) {
        weight_row(row, grad, inv_rms[r]);
      }
    }
  }

  SHERD_KERNEL_INLINE void input_row(const T* row, const T* grad, T* out, Compute<T> inv) const {
    using A = Compute<T>;
    A dot = 0;
#pragma omp simd reduction(+ : dot)
    for (std::int64_t j = 0; j < dim; ++j) {
      dot += load(grad[j]) * load(weight[j]) * load(row[j]);
    }
    const A pull = dot * inv * inv * inv / static_cast<A>(dim);
    if (accumulate_dx) {
#pragma omp simd
      for (std::int64_t j = 0; j < dim; ++j) {
        const A direct = load(grad[j]) * load(weight[j]) * inv;
        out[j] = store<T>(load(out[j]) + (direct - load(row[j]) * pull));
      }
    } else {
#pragma omp simd
      for (std::int64_t j = 0; j < dim; ++j) {
        const A direct = load(grad[j]) * load(weight[j]) * inv;
        out[j] = store<T>(direct - load(row[j]) * pull);
      }
    }
  }

  SHERD_KERNEL_INLINE void weight_row(const T* row, const T* grad, Compute<T> inv) const {
#pragma omp simd
    for (std::int64_t j = 0; j < dim; ++j) {
      dweight[j] += load(grad[j]) * (load(row[j]) * inv);
    }
  }
};

/// Columns are the items: the weight's gradient, rows summed in order.
template <class T>
struct RmsNormWeightColumns {
  static constexpr std::int64_t grain = 64;
  const T* x;
  const Compute<T>* inv_rms;
  const T* dy;
  Compute<T>* dweight;
  std::int64_t rows;
  std::int64_t dim;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t r = 0; r < rows; ++r) {
      const Compute<T> inv = inv_rms[r];
#pragma omp simd
      for (std::int64_t j = begin; j < end; ++j) {
        dweight[j] += load(dy[r * dim + j]) * (load(x[r * dim + j]) * inv);
      }
    }
  }
};

}  // namespace sherd::kernel
