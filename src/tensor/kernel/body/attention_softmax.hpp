#pragma once

#include <limits>

#include "tensor/kernel/scalar.hpp"

namespace sherd::kernel {

/// Lanes that row ends are rounded up to, so that masked rows have no scalar tails.
inline constexpr std::int64_t kSoftmaxLanes = 16;

/// Turns a block of causal scores into unnormalised probabilities. Items are the block's rows; row
/// r sees the first first_visible + r of `width` keys. G is the element type of the product that
/// follows; where it is f32, `probabilities` may be `scores`.
template <class G>
struct SoftmaxRows {
  static constexpr std::int64_t grain = 8;
  float* scores;  // [rows, width]
  G* probabilities;
  float* inv_sum;
  float* lse;
  std::int64_t width;
  std::int64_t first_visible;
  float scale;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t r = begin; r < end; ++r) {
      row(r, first_visible + r);
    }
  }

  SHERD_KERNEL_INLINE void row(std::int64_t r, std::int64_t visible) const {
    float* s = scores + r * width;
    G* p = probabilities + r * width;
    const std::int64_t rounded = (visible + kSoftmaxLanes - 1) / kSoftmaxLanes * kSoftmaxLanes;
    const std::int64_t used = rounded < width ? rounded : width;
    for (std::int64_t j = visible; j < used; ++j) {
      s[j] = -std::numeric_limits<float>::infinity();  // e^-87 in the sum, which is at least 1
    }
    float most = s[0];
#pragma omp simd reduction(max : most)
    for (std::int64_t j = 0; j < used; ++j) {
      most = s[j] > most ? s[j] : most;
    }
    const float shift = most * scale;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < used; ++j) {
      const float e = exp_bounded(s[j] * scale - shift);
      sum += e;
      p[j] = store<G>(e);
    }
    for (std::int64_t j = visible; j < width; ++j) {
      p[j] = G{};
    }
    inv_sum[r] = 1.0F / sum;
    lse[r] = shift + std::log(sum);
  }
};

/// The same block in the backward, with keys as rows and queries as columns: column c sees key row
/// r when c >= r. Leaves the probabilities and the scores' gradients; for G = f32 in place.
template <class G>
struct SoftmaxGradientRows {
  static constexpr std::int64_t grain = 8;
  const float* scores;  // [rows, width], keys times queries
  const float* dprobabilities;
  G* probabilities;
  G* dscores;
  const float* lse;  // of the first column's query on
  const float* delta;
  std::int64_t width;
  float scale;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t r = begin; r < end; ++r) {
      row(r);
    }
  }

  SHERD_KERNEL_INLINE void row(std::int64_t r) const {
    const float* s = scores + r * width;
    const float* dp = dprobabilities + r * width;
    G* p = probabilities + r * width;
    G* ds = dscores + r * width;
#pragma omp simd
    for (std::int64_t c = r / kSoftmaxLanes * kSoftmaxLanes; c < width; ++c) {
      const float probability = exp_bounded(s[c] * scale - lse[c]);
      ds[c] = store<G>(scale * probability * (dp[c] - delta[c]));
      p[c] = store<G>(probability);
    }
    for (std::int64_t c = 0; c < r; ++c) {
      p[c] = G{};
      ds[c] = G{};
    }
  }
};

/// Dense tile of one head <- rows `stride` apart, and back.
template <class From, class To>
struct GatherRows {
  static constexpr std::int64_t grain = 8;
  const From* from;
  To* to;
  std::int64_t from_stride;
  std::int64_t dim;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t r = begin; r < end; ++r) {
#pragma omp simd
      for (std::int64_t d = 0; d < dim; ++d) {
        to[r * dim + d] = store<To>(load(from[r * from_stride + d]));
      }
    }
  }
};

template <class T>
struct ScatterScaledRows {
  static constexpr std::int64_t grain = 8;
  const float* from;
  const float* factor;
  T* to;
  std::int64_t to_stride;
  std::int64_t dim;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t r = begin; r < end; ++r) {
      const float f = factor[r];
#pragma omp simd
      for (std::int64_t d = 0; d < dim; ++d) {
        to[r * to_stride + d] = store<T>(from[r * dim + d] * f);
      }
    }
  }
};

/// delta[r] = dout row . out row
template <class T>
struct DotRows {
  static constexpr std::int64_t grain = 8;
  const T* a;
  const T* b;
  float* result;
  std::int64_t stride;
  std::int64_t dim;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t r = begin; r < end; ++r) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t d = 0; d < dim; ++d) {
        sum += load(a[r * stride + d]) * load(b[r * stride + d]);
      }
      result[r] = sum;
    }
  }
};

}  // namespace sherd::kernel
