#pragma once

#include "tensor/kernel/scalar.hpp"

namespace sherd::kernel {

/// Sizes of one attention: batch, query heads, key/value heads, positions, elements of a head.
struct AttentionShape {
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t seq = 0;
  std::int64_t head_dim = 0;

  /// The key/value head (over batch and heads) that query head `bh` reads.
  [[nodiscard]] SHERD_KERNEL_INLINE std::int64_t kv_of(std::int64_t bh) const {
    return bh / heads * kv_heads + bh % heads / (heads / kv_heads);
  }
  /// Where row s of query head bh starts in the unpacked [batch*seq, heads*head_dim] layout.
  [[nodiscard]] SHERD_KERNEL_INLINE std::int64_t unpacked(std::int64_t bh, std::int64_t s) const {
    return ((bh / heads * seq + s) * heads + bh % heads) * head_dim;
  }
};

template <class T>
SHERD_KERNEL_INLINE Compute<T> dot(const T* a, const T* b, std::int64_t count) {
  Compute<T> sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) {
    sum += load(a[i]) * load(b[i]);
  }
  return sum;
}

/// Elements of an output row that a thread keeps at a time in the row-wise kernels.
inline constexpr std::int64_t kAttentionChunk = 128;

/// Items are (batch, head, query) rows; scores are recomputed instead of stored.
template <class T>
struct AttentionForwardRows {
  using A = Compute<T>;
  static constexpr std::int64_t grain = 4;
  AttentionShape shape;
  A scale;
  const T* q;
  const T* k;
  const T* v;
  T* out;
  A* lse;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t item = begin; item < end; ++item) {
      row(item / shape.seq, item % shape.seq);
    }
  }

  SHERD_KERNEL_INLINE void row(std::int64_t bh, std::int64_t i) const {
    const std::int64_t dim = shape.head_dim;
    const T* query = q + (bh * shape.seq + i) * dim;
    const T* keys = k + shape.kv_of(bh) * shape.seq * dim;
    const T* values = v + shape.kv_of(bh) * shape.seq * dim;
    A most = scale * dot(query, keys, dim);
    A sum = 1;
    for (std::int64_t j = 1; j <= i; ++j) {
      const A score = scale * dot(query, keys + j * dim, dim);
      if (score > most) {
        sum = sum * exp_bounded(most - score) + A{1};
        most = score;
      } else {
        sum += exp_bounded(score - most);
      }
    }
    const A row_lse = most + std::log(sum);
    lse[bh * shape.seq + i] = row_lse;
    T* to = out + shape.unpacked(bh, i);
    for (std::int64_t d0 = 0; d0 < dim; d0 += kAttentionChunk) {
      const std::int64_t width = dim - d0 < kAttentionChunk ? dim - d0 : kAttentionChunk;
      A acc[kAttentionChunk] = {};
      for (std::int64_t j = 0; j <= i; ++j) {
        const A p = exp_bounded(scale * dot(query, keys + j * dim, dim) - row_lse);
        for (std::int64_t d = 0; d < width; ++d) {
          acc[d] += p * load(values[j * dim + d0 + d]);
        }
      }
      for (std::int64_t d = 0; d < width; ++d) {
        to[d0 + d] = store<T>(acc[d]);
      }
    }
  }
};

/// What both halves of the backward read.
template <class T>
struct AttentionGradients {
  using A = Compute<T>;
  AttentionShape shape;
  A scale;
  const T* q;
  const T* k;
  const T* v;
  const T* out;
  const A* lse;
  const T* dout;

  struct Pair {
    A probability;
    A dscore;
  };
  /// delta: dout . out of query row i.
  SHERD_KERNEL_INLINE A delta(std::int64_t bh, std::int64_t i) const {
    const std::int64_t at = shape.unpacked(bh, i);
    return dot(dout + at, out + at, shape.head_dim);
  }
  SHERD_KERNEL_INLINE Pair pair(std::int64_t bh, std::int64_t i, std::int64_t j,
                                A row_delta) const {
    const std::int64_t dim = shape.head_dim;
    const std::int64_t kv = shape.kv_of(bh) * shape.seq + j;
    const A score = scale * dot(q + (bh * shape.seq + i) * dim, k + kv * dim, dim);
    const A p = exp_bounded(score - lse[bh * shape.seq + i]);
    const A dp = dot(dout + shape.unpacked(bh, i), v + kv * dim, dim);
    return {p, scale * p * (dp - row_delta)};
  }
};

/// Items are (batch, head, query) rows.
template <class T>
struct AttentionBackwardQuery {
  using A = Compute<T>;
  static constexpr std::int64_t grain = 4;
  AttentionGradients<T> in;
  T* dq;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    const AttentionShape& shape = in.shape;
    const std::int64_t dim = shape.head_dim;
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t bh = item / shape.seq;
      const std::int64_t i = item % shape.seq;
      const A row_delta = in.delta(bh, i);
      const T* keys = in.k + shape.kv_of(bh) * shape.seq * dim;
      for (std::int64_t d0 = 0; d0 < dim; d0 += kAttentionChunk) {
        const std::int64_t width = dim - d0 < kAttentionChunk ? dim - d0 : kAttentionChunk;
        A acc[kAttentionChunk] = {};
        for (std::int64_t j = 0; j <= i; ++j) {
          const A dscore = in.pair(bh, i, j, row_delta).dscore;
          for (std::int64_t d = 0; d < width; ++d) {
            acc[d] += dscore * load(keys[j * dim + d0 + d]);
          }
        }
        for (std::int64_t d = 0; d < width; ++d) {
          dq[item * dim + d0 + d] = store<T>(acc[d]);
        }
      }
    }
  }
};

/// Items are (batch, kv head, key) rows; the query heads of the group are summed in order.
template <class T>
struct AttentionBackwardKeyValue {
  using A = Compute<T>;
  static constexpr std::int64_t grain = 4;
  AttentionGradients<T> in;
  T* dk;
  T* dv;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t item = begin; item < end; ++item) {
      for (std::int64_t d0 = 0; d0 < in.shape.head_dim; d0 += kAttentionChunk) {
        chunk(item, d0);
      }
    }
  }

  SHERD_KERNEL_INLINE void chunk(std::int64_t item, std::int64_t d0) const {
    const AttentionShape& shape = in.shape;
    const std::int64_t dim = shape.head_dim;
    const std::int64_t width = dim - d0 < kAttentionChunk ? dim - d0 : kAttentionChunk;
    const std::int64_t j = item % shape.seq;
    const std::int64_t kv = item / shape.seq;
    const std::int64_t group = shape.heads / shape.kv_heads;
    const std::int64_t first = kv / shape.kv_heads * shape.heads + kv % shape.kv_heads * group;
    A key_acc[kAttentionChunk] = {};
    A value_acc[kAttentionChunk] = {};
    for (std::int64_t bh = first; bh < first + group; ++bh) {
      for (std::int64_t i = j; i < shape.seq; ++i) {
        const auto pair = in.pair(bh, i, j, in.delta(bh, i));
        const T* query = in.q + (bh * shape.seq + i) * dim + d0;
        const T* grad = in.dout + shape.unpacked(bh, i) + d0;
        for (std::int64_t d = 0; d < width; ++d) {
          key_acc[d] += pair.dscore * load(query[d]);
          value_acc[d] += pair.probability * load(grad[d]);
        }
      }
    }
    for (std::int64_t d = 0; d < width; ++d) {
      dk[item * dim + d0 + d] = store<T>(key_acc[d]);
      dv[item * dim + d0 + d] = store<T>(value_acc[d]);
    }
  }
};

}  // namespace sherd::kernel
