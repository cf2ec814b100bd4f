#pragma once

#include "sherd/tensor/kernel/optimizer.hpp"
#include "tensor/kernel/scalar.hpp"

namespace sherd::kernel {

/// Elements of a gradient whose statistics are summed together; part of the summation order: a
/// block is summed in kStatsLanes lanes of f64 (element i of the block in lane i mod kStatsLanes),
/// then the lanes in order.
inline constexpr std::int64_t kStatsBlock = 4096;
inline constexpr std::int64_t kStatsLanes = 16;

[[nodiscard]] constexpr std::int64_t stats_blocks(std::int64_t numel) noexcept {
  return (numel + kStatsBlock - 1) / kStatsBlock;
}
/// Elements of block `block`.
[[nodiscard]] SHERD_KERNEL_INLINE std::int64_t stats_count(std::int64_t numel, std::int64_t block) {
  const std::int64_t left = numel - block * kStatsBlock;
  return left < kStatsBlock ? left : kStatsBlock;
}

/// What an element adds to a lane.
struct Squares {
  SHERD_KERNEL_INLINE static double join(double lane, double value) { return lane + value * value; }
  SHERD_KERNEL_INLINE static double merge(double total, double lane) { return total + lane; }
};
struct Magnitudes {
  SHERD_KERNEL_INLINE static double join(double lane, double value) {
    return lane + std::fabs(value);
  }
  SHERD_KERNEL_INLINE static double merge(double total, double lane) { return total + lane; }
};
struct Cubes {
  SHERD_KERNEL_INLINE static double join(double lane, double value) {
    return lane + value * value * std::fabs(value);
  }
  SHERD_KERNEL_INLINE static double merge(double total, double lane) { return total + lane; }
};
struct Largest {
  SHERD_KERNEL_INLINE static double join(double lane, double value) {
    return merge(lane, std::fabs(value));
  }
  /// A NaN on either side stays.
  SHERD_KERNEL_INLINE static double merge(double total, double lane) {
    return lane > total || lane != lane ? lane : total;
  }
};

template <class Sum, class T>
SHERD_KERNEL_INLINE double block_sum(const T* values, std::int64_t count) {
  double lanes[kStatsLanes] = {};
  const std::int64_t whole = count - count % kStatsLanes;
  for (std::int64_t i = 0; i < whole; i += kStatsLanes) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < kStatsLanes; ++lane) {
      lanes[lane] = Sum::join(lanes[lane], static_cast<double>(load(values[i + lane])));
    }
  }
  for (std::int64_t i = whole; i < count; ++i) {
    lanes[i - whole] = Sum::join(lanes[i - whole], static_cast<double>(load(values[i])));
  }
  double total = 0;
  for (const double lane : lanes) {
    total = Sum::merge(total, lane);
  }
  return total;
}

template <class T>
SHERD_KERNEL_INLINE bool is_nonfinite(T value) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return (value.bits & 0x7F80U) == 0x7F80U;
  } else if constexpr (std::is_same_v<T, Float16>) {
    return (value.bits & 0x7C00U) == 0x7C00U;
  } else if constexpr (std::is_same_v<T, float>) {
    return (std::bit_cast<std::uint32_t>(value) & 0x7F800000U) == 0x7F800000U;
  } else {
    constexpr std::uint64_t kExponent = 0x7FF0000000000000U;
    return (std::bit_cast<std::uint64_t>(value) & kExponent) == kExponent;
  }
}

template <class T>
SHERD_KERNEL_INLINE std::int64_t count_nonfinite(const T* values, std::int64_t count) {
  std::int32_t bad = 0;
#pragma omp simd reduction(+ : bad)
  for (std::int64_t i = 0; i < count; ++i) {
    bad += is_nonfinite(values[i]) ? 1 : 0;
  }
  return bad;
}

/// Items are blocks, here and below.
template <class T>
struct BlockStats {
  static constexpr std::int64_t grain = 4;
  const T* values;
  std::int64_t numel;
  double* squares;  // one for each block
  std::int64_t* nonfinite;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t block = begin; block < end; ++block) {
      const T* first = values + block * kStatsBlock;
      const std::int64_t count = stats_count(numel, block);
      squares[block] = block_sum<Squares>(first, count);
      nonfinite[block] = count_nonfinite(first, count);
    }
  }
};

template <class Sum, class T>
struct BlockSums {
  static constexpr std::int64_t grain = 4;
  const T* values;
  std::int64_t numel;
  double* sums;  // one for each block

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t block = begin; block < end; ++block) {
      sums[block] = block_sum<Sum>(values + block * kStatsBlock, stats_count(numel, block));
    }
  }
};

/// Index of the first element of a block that is a NaN or infinity, -1 if there is none.
template <class T>
struct FirstNonfinite {
  static constexpr std::int64_t grain = 4;
  const T* values;
  std::int64_t numel;
  std::int64_t* index;  // one for each block

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t first = block * kStatsBlock;
      const std::int64_t count = stats_count(numel, block);
      index[block] = -1;
      if (count_nonfinite(values + first, count) == 0) {
        continue;
      }
      std::int64_t i = first;
      while (!is_nonfinite(values[i])) {
        ++i;
      }
      index[block] = i;
    }
  }
};

}  // namespace sherd::kernel
