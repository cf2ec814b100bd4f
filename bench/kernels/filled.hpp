#pragma once

#include <benchmark/benchmark.h>

#include "sherd/tensor/tensor.hpp"

namespace sherd::bench {

/// A tensor of values in [-0.5, 0.5), the same at every call.
inline Tensor filled(const Shape& shape, DType dtype) {
  const Tensor wide = Tensor::empty(shape, DType::f32);
  std::uint32_t state = 12345;
  for (float& value : wide.span<float>()) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8) * 0x1p-24F - 0.5F;
  }
  return to_dtype(wide, dtype);
}

/// Bench arguments carry the dtype as an integer.
inline DType dtype_argument(const benchmark::State& state, std::size_t index = 0) {
  return state.range(index) == 0 ? DType::f32 : DType::bf16;
}

inline void count_bytes(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

inline void count_flops(benchmark::State& state, double flops) {
  state.counters["flop/s"] =
      benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace sherd::bench
