#include "tensor/kernel/body/grad_sum.hpp"
#include "tensor/kernel/cuda/launch_cuda.hpp"

namespace sherd::kernel {

SHERD_CUDA_BODIES(BlockStats);
SHERD_CUDA_BODIES(FirstNonfinite);
SHERD_CUDA_PAIRS_FROM(BlockSums, Magnitudes);
SHERD_CUDA_PAIRS_FROM(BlockSums, Cubes);
SHERD_CUDA_PAIRS_FROM(BlockSums, Largest);
SHERD_CUDA_BODY(ElementSum<float>);
SHERD_CUDA_BODY(ElementSum<double>);
SHERD_CUDA_BODIES(ElementRoundedSum);

}  // namespace sherd::kernel
