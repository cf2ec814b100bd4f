#pragma once

#include "sherd/kx/execution.hpp"
#include "tensor/kernel/launch.hpp"

// The kernels on a CUDA device: the files here instantiate launch_cuda() for every body that device
// tensors meet. nvcc compiles them, where Kokkos has CUDA.

namespace sherd::kernel {

template <class Body>
void launch_cuda(const char* label, const Body& body, std::int64_t count, void* stream) {
  const Kokkos::Cuda space = kx::cuda_space(stream);
  Kokkos::parallel_for(
      label,
      Kokkos::RangePolicy<Kokkos::Cuda, Kokkos::IndexType<std::int64_t>>(space, std::int64_t{0},
                                                                         count),
      KOKKOS_LAMBDA(const std::int64_t item) { body(item, item + 1); });
}

}  // namespace sherd::kernel

#define SHERD_CUDA_BODY(...) \
  template void launch_cuda(const char*, const __VA_ARGS__&, std::int64_t, void*)
#define SHERD_CUDA_BODIES(Body)    \
  SHERD_CUDA_BODY(Body<float>);    \
  SHERD_CUDA_BODY(Body<double>);   \
  SHERD_CUDA_BODY(Body<BFloat16>); \
  SHERD_CUDA_BODY(Body<Float16>)
/// Body<From, To> for all pairs.
#define SHERD_CUDA_PAIRS_FROM(Body, From) \
  SHERD_CUDA_BODY(Body<From, float>);     \
  SHERD_CUDA_BODY(Body<From, double>);    \
  SHERD_CUDA_BODY(Body<From, BFloat16>);  \
  SHERD_CUDA_BODY(Body<From, Float16>)
#define SHERD_CUDA_PAIRS(Body)           \
  SHERD_CUDA_PAIRS_FROM(Body, float);    \
  SHERD_CUDA_PAIRS_FROM(Body, double);   \
  SHERD_CUDA_PAIRS_FROM(Body, BFloat16); \
  SHERD_CUDA_PAIRS_FROM(Body, Float16)
