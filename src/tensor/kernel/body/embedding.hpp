#pragma once

#include <limits>

#include "tensor/kernel/scalar.hpp"

namespace sherd::kernel {

/// out[i, j] = table[ids[i], j], NaN where there is no such row. Items are the elements of `out`.
template <class T>
struct EmbeddingRows {
  static constexpr std::int64_t grain = 16384;
  const T* table;
  const std::int32_t* ids;
  T* out;
  std::int64_t vocab;
  std::int64_t dim;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t id = ids[item / dim];
      const bool known = id >= 0 && id < vocab;
      out[item] = known ? table[id * dim + item % dim] : store<T>(Compute<T>{kNan});
    }
  }
};

/// Parts that the rows of the table are dealt out to, so that there is work for many threads.
inline constexpr std::int64_t kEmbeddingParts = 32;

/// dtable[ids[i], j] += dout[i, j] in the order of i. Items are a part of the table's rows (those
/// whose number modulo kEmbeddingParts is its own) and a column: nobody else adds to those
/// elements.
template <class T>
struct EmbeddingColumns {
  static constexpr std::int64_t grain = 16;
  const std::int32_t* ids;
  const T* dout;
  Compute<T>* dtable;
  std::int64_t tokens;
  std::int64_t vocab;
  std::int64_t dim;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t part = item / dim;
      const std::int64_t column = item % dim;
      for (std::int64_t i = 0; i < tokens; ++i) {
        const std::int64_t id = ids[i];
        if (id >= 0 && id < vocab && id % kEmbeddingParts == part) {
          dtable[id * dim + column] += load(dout[i * dim + column]);
        }
      }
    }
  }
};

}  // namespace sherd::kernel
