#pragma once

#include "tensor/kernel/body/grad_stats.hpp"

namespace sherd::kernel {

/// to[i] = from[i], or to[i] += from[i], in the type of `to`.
template <class To, class From>
SHERD_KERNEL_INLINE void copy_block(To* to, const From* from, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = store<To>(load(from[i]));
  }
}
template <class To, class From>
SHERD_KERNEL_INLINE void add_block(To* to, const From* from, std::int64_t count) {
  using A = Compute<To>;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = store<To>(load(to[i]) + static_cast<A>(load(from[i])));
  }
}

/// Items are blocks of kStatsBlock elements, here and below.
template <class P>
struct GradSum {
  static constexpr std::int64_t grain = 4;
  const P* const* sources;
  std::int64_t source_count;
  P* dst;
  bool accumulate;
  BlockStats<P> stats;  // of dst

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t block = begin; block < end; ++block) {
      sum(block * kStatsBlock, stats_count(stats.numel, block));
      stats(block, block + 1);
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
    copy_block(total, sources[0] + first, count);
    for (std::int64_t s = 1; s < source_count; ++s) {
      add_block(total, sources[s] + first, count);
    }
    if (accumulate) {
      add_block(out, total, count);
    } else {
      copy_block(out, total, count);
    }
  }
};

/// The sums of a GradSum without the statistics. Items are elements: a thread of a GPU has no room
/// for a block.
template <class P>
struct ElementSum {
  static constexpr std::int64_t grain = 16384;
  const P* const* sources;
  std::int64_t source_count;
  P* dst;
  bool accumulate;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    if (source_count == 0 && accumulate) {
      return;
    }
    for (std::int64_t i = begin; i < end; ++i) {
      P total = source_count > 0 ? sources[0][i] : P{0};
      for (std::int64_t s = 1; s < source_count; ++s) {
        total += sources[s][i];
      }
      dst[i] = accumulate ? dst[i] + total : total;
    }
  }
};

/// One summand of a RoundedSum: f32, bf16 or f16.
struct NarrowSource {
  const void* data;
  DType dtype;
};

/// D: element type of the destination.
template <class D>
struct RoundedSum {
  static constexpr std::int64_t grain = 4;
  const NarrowSource* sources;
  std::int64_t source_count;
  DType rounded;
  D* dst;
  bool accumulate;
  BlockStats<D> stats;  // of dst

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t first = block * kStatsBlock;
      const std::int64_t count = stats_count(stats.numel, block);
      if (source_count > 0 || !accumulate) {
        float total[kStatsBlock] = {};
        for (std::int64_t s = 0; s < source_count; ++s) {
          take(total, sources[s], first, count, s == 0);
        }
        round(total, count);
        if (accumulate) {
          add_block(dst + first, total, count);
        } else {
          copy_block(dst + first, total, count);
        }
      }
      stats(block, block + 1);
    }
  }

  SHERD_KERNEL_INLINE static void take(float* total, const NarrowSource& source, std::int64_t first,
                                       std::int64_t count, bool is_first) {
    if (source.dtype == DType::f32) {
      put(total, static_cast<const float*>(source.data) + first, count, is_first);
    } else if (source.dtype == DType::bf16) {
      put(total, static_cast<const BFloat16*>(source.data) + first, count, is_first);
    } else {
      put(total, static_cast<const Float16*>(source.data) + first, count, is_first);
    }
  }
  template <class S>
  SHERD_KERNEL_INLINE static void put(float* total, const S* from, std::int64_t count,
                                      bool is_first) {
    if (is_first) {
      copy_block(total, from, count);
    } else {
      add_block(total, from, count);
    }
  }

  SHERD_KERNEL_INLINE void round(float* total, std::int64_t count) const {
    if (rounded == DType::bf16) {
      round_to<BFloat16>(total, count);
    } else if (rounded == DType::f16) {
      round_to<Float16>(total, count);
    }
  }
  template <class R>
  SHERD_KERNEL_INLINE static void round_to(float* total, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      total[i] = load(store<R>(total[i]));
    }
  }
};

/// The sums of a RoundedSum without the statistics. Items are elements.
template <class D>
struct ElementRoundedSum {
  static constexpr std::int64_t grain = 16384;
  const NarrowSource* sources;
  std::int64_t source_count;
  DType rounded;
  D* dst;
  bool accumulate;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    if (source_count == 0 && accumulate) {
      return;
    }
    for (std::int64_t i = begin; i < end; ++i) {
      float total = source_count > 0 ? value(sources[0], i) : 0.0F;
      for (std::int64_t s = 1; s < source_count; ++s) {
        total += value(sources[s], i);
      }
      total = round(total);
      if (accumulate) {
        add_block(dst + i, &total, 1);
      } else {
        copy_block(dst + i, &total, 1);
      }
    }
  }

  SHERD_KERNEL_INLINE static float value(const NarrowSource& source, std::int64_t i) {
    if (source.dtype == DType::f32) {
      return static_cast<const float*>(source.data)[i];
    }
    return source.dtype == DType::bf16 ? load(static_cast<const BFloat16*>(source.data)[i])
                                       : load(static_cast<const Float16*>(source.data)[i]);
  }
  SHERD_KERNEL_INLINE float round(float total) const {
    if (rounded == DType::bf16) {
      return load(store<BFloat16>(total));
    }
    return rounded == DType::f16 ? load(store<Float16>(total)) : total;
  }
};

}  // namespace sherd::kernel
