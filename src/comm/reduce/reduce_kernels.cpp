#include "comm/reduce/reduce_kernels.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "sherd/base/half.hpp"

// The build is for plain x86-64; these attributes add versions for AVX2 and AVX-512 machines,
// chosen when the program is loaded. The bodies are forced inline so that each version is compiled
// anew.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define SHERD_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SHERD_CLONES
#endif
#define SHERD_INLINE [[gnu::always_inline]] inline

namespace sherd::comm {
namespace {

/// Type in which T is accumulated: f32 for the 16-bit floats, unsigned for integers (wraps).
template <class T>
struct Accumulator {
  using type = T;
};
template <>
struct Accumulator<BFloat16> {
  using type = float;
};
template <>
struct Accumulator<Float16> {
  using type = float;
};

struct Sum {
  template <class A>
  SHERD_INLINE static A apply(A a, A b) {
    if constexpr (std::is_integral_v<A>) {
      using Unsigned = std::make_unsigned_t<A>;
      return static_cast<A>(
          static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
    } else {
      return a + b;
    }
  }
};
struct Max {
  template <class A>
  SHERD_INLINE static A apply(A a, A b) {
    return a < b ? b : a;
  }
};
struct Min {
  template <class A>
  SHERD_INLINE static A apply(A a, A b) {
    return b < a ? b : a;
  }
};

/// Two inputs: one pass, no intermediate. `out` may be one of them (same element, so `ivdep`
/// holds).
template <class T, class Op>
SHERD_INLINE void reduce_two(T* out, const T* a, const T* b, std::size_t count) {
  using A = typename Accumulator<T>::type;
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = T(Op::apply(static_cast<A>(a[i]), static_cast<A>(b[i])));
  }
}

/// Many inputs: block by block in an accumulator that stays in the first cache.
template <class T, class Op>
SHERD_INLINE void reduce_many(T* out, const T* const* inputs, std::size_t ranks,
                              std::size_t count) {
  using A = typename Accumulator<T>::type;
  constexpr std::size_t kBlock = 4096 / sizeof(A);
  alignas(64) A sums[kBlock];
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t n = std::min(kBlock, count - begin);
    const T* first = inputs[0] + begin;
    for (std::size_t i = 0; i < n; ++i) {
      sums[i] = static_cast<A>(first[i]);
    }
    for (std::size_t rank = 1; rank < ranks; ++rank) {
      const T* next = inputs[rank] + begin;
      for (std::size_t i = 0; i < n; ++i) {
        sums[i] = Op::apply(sums[i], static_cast<A>(next[i]));
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      out[begin + i] = T(sums[i]);
    }
  }
}

template <class T, class Op>
SHERD_INLINE void reduce_any(void* out, const void* const* inputs, std::size_t ranks,
                             std::size_t count) {
  auto* typed_out = static_cast<T*>(out);
  const auto* typed_inputs = reinterpret_cast<const T* const*>(inputs);
  if (ranks == 2) {
    reduce_two<T, Op>(typed_out, typed_inputs[0], typed_inputs[1], count);
  } else {
    reduce_many<T, Op>(typed_out, typed_inputs, ranks, count);
  }
}

#define SHERD_KERNEL(name, T, Op)                                                 \
  SHERD_CLONES void name(void* out, const void* const* inputs, std::size_t ranks, \
                         std::size_t count) {                                     \
    reduce_any<T, Op>(out, inputs, ranks, count);                                 \
  }
#define SHERD_KERNELS(name, T) \
  SHERD_KERNEL(sum_##name, T, Sum) SHERD_KERNEL(max_##name, T, Max) SHERD_KERNEL(min_##name, T, Min)

SHERD_KERNELS(f64, double)
SHERD_KERNELS(f32, float)
SHERD_KERNELS(f16, Float16)
SHERD_KERNELS(bf16, BFloat16)
SHERD_KERNELS(i64, std::int64_t)
SHERD_KERNELS(i32, std::int32_t)
SHERD_KERNELS(u8, std::uint8_t)

ReduceKernel pick(ReduceOp op, ReduceKernel sum, ReduceKernel max, ReduceKernel min) {
  return op == ReduceOp::sum ? sum : (op == ReduceOp::max ? max : min);
}

}  // namespace

ReduceKernel find_reduce_kernel(DType dtype, ReduceOp op) {
  switch (dtype) {
    case DType::f64:
      return pick(op, sum_f64, max_f64, min_f64);
    case DType::f32:
      return pick(op, sum_f32, max_f32, min_f32);
    case DType::f16:
      return pick(op, sum_f16, max_f16, min_f16);
    case DType::bf16:
      return pick(op, sum_bf16, max_bf16, min_bf16);
    case DType::i64:
      return pick(op, sum_i64, max_i64, min_i64);
    case DType::i32:
      return pick(op, sum_i32, max_i32, min_i32);
    case DType::u8:
      return pick(op, sum_u8, max_u8, min_u8);
    case DType::u16:
      break;
  }
  return nullptr;
}

}  // namespace sherd::comm
