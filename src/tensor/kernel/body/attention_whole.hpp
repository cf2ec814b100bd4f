#pragma once

#include "tensor/kernel/body/attention_rows.hpp"

namespace sherd::kernel {

/// Causal scores of whole sequences to probabilities. Items are rows; row r belongs to query
/// r % seq and sees the keys up to it. For G = f32 `probabilities` may be `scores`.
template <class G>
struct CausalSoftmax {
  static constexpr std::int64_t grain = 8;
  float* scores;  // [rows, seq]
  G* probabilities;
  float* lse;
  std::int64_t seq;
  float scale;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t r = begin; r < end; ++r) {
      row(scores + r * seq, probabilities + r * seq, lse + r, r % seq + 1);
    }
  }

  SHERD_KERNEL_INLINE void row(float* s, G* p, float* row_lse, std::int64_t visible) const {
    float most = s[0];
    for (std::int64_t j = 1; j < visible; ++j) {
      most = s[j] > most ? s[j] : most;
    }
    float sum = 0;
    for (std::int64_t j = 0; j < visible; ++j) {
      const float e = exp_bounded((s[j] - most) * scale);
      sum += e;
      s[j] = e;
    }
    const float inv = 1.0F / sum;
    for (std::int64_t j = 0; j < visible; ++j) {
      p[j] = store<G>(s[j] * inv);
    }
    for (std::int64_t j = visible; j < seq; ++j) {
      p[j] = G{};
    }
    *row_lse = most * scale + std::log(sum);
  }
};

/// The same rows in the backward: probabilities from scores and lse, and the scores' gradients. For
/// G = f32 both may be written in place.
template <class G>
struct CausalGradient {
  static constexpr std::int64_t grain = 8;
  const float* scores;  // [rows, seq]
  const float* dprobabilities;
  G* probabilities;
  G* dscores;
  const float* lse;
  const float* delta;
  std::int64_t seq;
  float scale;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t r = item / seq;
      const bool visible = item % seq <= r % seq;
      const float p = visible ? exp_bounded(scores[item] * scale - lse[r]) : 0.0F;
      const float ds = visible ? scale * p * (dprobabilities[item] - delta[r]) : 0.0F;
      probabilities[item] = store<G>(p);
      dscores[item] = store<G>(ds);
    }
  }
};

/// Rows of heads, [rows, head_dim], from and to the unpacked layout, from row `first` on. Items are
/// elements.
template <class From, class To>
struct PackHeads {
  static constexpr std::int64_t grain = 16384;
  AttentionShape shape;
  std::int64_t first;
  const From* unpacked;
  To* packed;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t row = first + item / shape.head_dim;
      const std::int64_t at = shape.unpacked(row / shape.seq, row % shape.seq);
      packed[item] = store<To>(load(unpacked[at + item % shape.head_dim]));
    }
  }
};
template <class To>
struct UnpackHeads {
  static constexpr std::int64_t grain = 16384;
  AttentionShape shape;
  std::int64_t first;
  const float* packed;
  To* unpacked;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t row = first + item / shape.head_dim;
      const std::int64_t at = shape.unpacked(row / shape.seq, row % shape.seq);
      unpacked[at + item % shape.head_dim] = store<To>(packed[item]);
    }
  }
};

/// dout . out of rows. Items are rows.
template <class T>
struct HeadDots {
  static constexpr std::int64_t grain = 16;
  AttentionShape shape;
  std::int64_t first;
  const T* dout;
  const T* out;
  float* delta;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t at = shape.unpacked((first + r) / shape.seq, (first + r) % shape.seq);
      delta[r] = dot(dout + at, out + at, shape.head_dim);
    }
  }
};

}  // namespace sherd::kernel
