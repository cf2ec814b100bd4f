#include "tensor/kernel/body/optimizer.hpp"
#include "tensor/kernel/cuda/launch_cuda.hpp"

namespace sherd::kernel {

SHERD_CUDA_PAIRS_FROM(AdamW, float);
SHERD_CUDA_PAIRS_FROM(AdamW, double);
SHERD_CUDA_PAIRS_FROM(Sgd, float);
SHERD_CUDA_PAIRS_FROM(Sgd, double);

}  // namespace sherd::kernel
