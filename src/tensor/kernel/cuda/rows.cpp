#include "tensor/kernel/body/cross_entropy.hpp"
#include "tensor/kernel/body/embedding.hpp"
#include "tensor/kernel/body/linear.hpp"
#include "tensor/kernel/body/rms_norm.hpp"
#include "tensor/kernel/body/rope.hpp"
#include "tensor/kernel/cuda/launch_cuda.hpp"

namespace sherd::kernel {

SHERD_CUDA_BODIES(AddBias);
SHERD_CUDA_BODIES(SumRows);
SHERD_CUDA_BODIES(RmsNormForward);
SHERD_CUDA_BODIES(RmsNormBackward);
SHERD_CUDA_BODIES(RmsNormWeightColumns);
SHERD_CUDA_BODIES(RopePack);
SHERD_CUDA_BODIES(RopeUnpack);
SHERD_CUDA_BODIES(CrossEntropyForward);
SHERD_CUDA_BODIES(CrossEntropyBackward);
SHERD_CUDA_BODIES(EmbeddingRows);
SHERD_CUDA_BODIES(EmbeddingColumns);

}  // namespace sherd::kernel
