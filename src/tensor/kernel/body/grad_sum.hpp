#pragma once

#include "tensor/kernel/scalar.hpp"

namespace sherd::kernel {

/// Elements of a gradient whose statistics are summed together; part of the summation order.
inline constexpr std::int64_t kStatsBlock = 4096;
inline constexpr std::int64_t kStatsLanes = 16;

/// Items are blocks of kStatsBlock elements. A block's squares are summed in kStatsLanes lanes of
/// f64 (element i of the block in lane i mod kStatsLanes), the lanes in order.
template <class P>
struct GradSum {
  static constexpr std::int64_t grain = 4;
  const P* const* sources;
  std::int64_t source_count;
  P* dst;  // null: statistics of sources[0]
  bool accumulate;
  std::int64_t numel;
  double* squares;  // one for each block
  std::int64_t* nonfinite;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t first = block * kStatsBlock;
      const std::int64_t left = numel - first;
      const std::int64_t count = left < kStatsBlock ? left : kStatsBlock;
      if (dst != nullptr) {
        sum(first, count);
      }
      const P* values = (dst != nullptr ? dst : sources[0]) + first;
      squares[block] = sum_of_squares(values, count);
      nonfinite[block] = count_nonfinite(values, count);
    }
  }

  SHERD_KERNEL_INLINE void sum(std::int64_t first, std::int64_t count) const {
    P total[kStatsBlock];
    P* out = dst + first;
    if (source_count == 0) {
      for (std::int64_t i = 0; i < count && !accumulate; ++i) {
        out[i] = P{0};
      }
      return;
    }
    copy(total, sources[0] + first, count);
    for (std::int64_t s = 1; s < source_count; ++s) {
      add(total, sources[s] + first, count);
    }
    if (accumulate) {
      add(out, total, count);
    } else {
      copy(out, total, count);
    }
  }

  SHERD_KERNEL_INLINE static void copy(P* to, const P* from, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = from[i];
    }
  }
  SHERD_KERNEL_INLINE static void add(P* to, const P* from, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] += from[i];
    }
  }

  SHERD_KERNEL_INLINE static double sum_of_squares(const P* values, std::int64_t count) {
    double lanes[kStatsLanes] = {};
    const std::int64_t whole = count - count % kStatsLanes;
    for (std::int64_t i = 0; i < whole; i += kStatsLanes) {
#pragma omp simd
      for (std::int64_t lane = 0; lane < kStatsLanes; ++lane) {
        const auto value = static_cast<double>(values[i + lane]);
        lanes[lane] += value * value;
      }
    }
    for (std::int64_t i = whole; i < count; ++i) {
      const auto value = static_cast<double>(values[i]);
      lanes[i - whole] += value * value;
    }
    double total = 0;
    for (const double lane : lanes) {
      total += lane;
    }
    return total;
  }

  SHERD_KERNEL_INLINE static std::int64_t count_nonfinite(const P* values, std::int64_t count) {
    std::int32_t bad = 0;
#pragma omp simd reduction(+ : bad)
    for (std::int64_t i = 0; i < count; ++i) {
      if constexpr (sizeof(P) == 4) {
        bad += (std::bit_cast<std::uint32_t>(values[i]) & 0x7F800000U) == 0x7F800000U ? 1 : 0;
      } else {
        constexpr std::uint64_t kExponent = 0x7FF0000000000000U;
        bad += (std::bit_cast<std::uint64_t>(values[i]) & kExponent) == kExponent ? 1 : 0;
      }
    }
    return bad;
  }
};

}  // namespace sherd::kernel
