// The Kokkos driver of the kernels on the host, instantiated for every body. nvcc compiles this
// file where Kokkos has CUDA, and fails on sherd/base/error.hpp.

#include <algorithm>

#include "sherd/kx/execution.hpp"
#include "tensor/kernel/body/attention_rows.hpp"
#include "tensor/kernel/body/cross_entropy.hpp"
#include "tensor/kernel/body/grad_sum.hpp"
#include "tensor/kernel/body/linear.hpp"
#include "tensor/kernel/body/optimizer.hpp"
#include "tensor/kernel/body/rms_norm.hpp"
#include "tensor/kernel/body/rope.hpp"
#include "tensor/kernel/body/swiglu.hpp"
#include "tensor/kernel/launch.hpp"

namespace sherd::kernel {

template <class Body>
void launch_kokkos(const char* label, const Body& body, std::int64_t count) {
  if (!kx::is_initialized()) {
    throw_without_kokkos();
  }
  constexpr std::int64_t kGrain = Body::grain;
  const kx::HostSpace space;
  const std::int64_t blocks = (count + kGrain - 1) / kGrain;
  Kokkos::parallel_for(
      label,
      Kokkos::RangePolicy<kx::HostSpace, Kokkos::IndexType<std::int64_t>>(space, std::int64_t{0},
                                                                          blocks),
      KOKKOS_LAMBDA(const std::int64_t block) {
        const std::int64_t begin = block * kGrain;
        body(begin, begin + kGrain < count ? begin + kGrain : count);
      });
  kx::fence(space, label);
}

#define SHERD_KOKKOS_BODY(...) \
  template void launch_kokkos(const char*, const __VA_ARGS__&, std::int64_t)
#define SHERD_KOKKOS_BODIES(Body)    \
  SHERD_KOKKOS_BODY(Body<float>);    \
  SHERD_KOKKOS_BODY(Body<double>);   \
  SHERD_KOKKOS_BODY(Body<BFloat16>); \
  SHERD_KOKKOS_BODY(Body<Float16>)

SHERD_KOKKOS_BODIES(SwigluForward);
SHERD_KOKKOS_BODIES(SwigluBackward);
SHERD_KOKKOS_BODIES(RmsNormForward);
SHERD_KOKKOS_BODIES(RmsNormBackward);
SHERD_KOKKOS_BODIES(RmsNormWeightColumns);
SHERD_KOKKOS_BODIES(RopePack);
SHERD_KOKKOS_BODIES(RopeUnpack);
SHERD_KOKKOS_BODIES(Add);
SHERD_KOKKOS_BODIES(CrossEntropyForward);
SHERD_KOKKOS_BODIES(CrossEntropyBackward);
SHERD_KOKKOS_BODIES(AttentionForwardRows);
SHERD_KOKKOS_BODIES(AttentionBackwardQuery);
SHERD_KOKKOS_BODIES(AttentionBackwardKeyValue);
SHERD_KOKKOS_BODY(GradSum<float>);
SHERD_KOKKOS_BODY(GradSum<double>);
SHERD_KOKKOS_BODY(AdamW<float, float>);
SHERD_KOKKOS_BODY(AdamW<float, double>);
SHERD_KOKKOS_BODY(AdamW<float, BFloat16>);
SHERD_KOKKOS_BODY(AdamW<float, Float16>);
SHERD_KOKKOS_BODY(AdamW<double, float>);
SHERD_KOKKOS_BODY(AdamW<double, double>);
SHERD_KOKKOS_BODY(AdamW<double, BFloat16>);
SHERD_KOKKOS_BODY(AdamW<double, Float16>);

}  // namespace sherd::kernel
