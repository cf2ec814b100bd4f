#include "tensor/kernel/body/attention_rows.hpp"
#include "tensor/kernel/body/attention_softmax.hpp"
#include "tensor/kernel/body/attention_whole.hpp"
#include "tensor/kernel/cuda/launch_cuda.hpp"

namespace sherd::kernel {

SHERD_CUDA_BODIES(AttentionForwardRows);
SHERD_CUDA_BODIES(AttentionBackwardQuery);
SHERD_CUDA_BODIES(AttentionBackwardKeyValue);
SHERD_CUDA_BODY(SoftmaxRows<float>);  // of the blocked form, which links but does not run here
SHERD_CUDA_BODY(SoftmaxRows<BFloat16>);
SHERD_CUDA_BODY(SoftmaxGradientRows<float>);
SHERD_CUDA_BODY(SoftmaxGradientRows<BFloat16>);
SHERD_CUDA_BODY(CausalSoftmax<float>);
SHERD_CUDA_BODY(CausalSoftmax<BFloat16>);
SHERD_CUDA_BODY(CausalGradient<float>);
SHERD_CUDA_BODY(CausalGradient<BFloat16>);
SHERD_CUDA_BODY(PackHeads<float, float>);
SHERD_CUDA_BODY(PackHeads<BFloat16, BFloat16>);
SHERD_CUDA_BODY(PackHeads<Float16, float>);
SHERD_CUDA_BODY(UnpackHeads<float>);
SHERD_CUDA_BODY(UnpackHeads<BFloat16>);
SHERD_CUDA_BODY(UnpackHeads<Float16>);
SHERD_CUDA_BODY(HeadDots<float>);
SHERD_CUDA_BODY(HeadDots<BFloat16>);
SHERD_CUDA_BODY(HeadDots<Float16>);
SHERD_CUDA_BODY(GatherRows<float, float>);
SHERD_CUDA_BODY(GatherRows<BFloat16, BFloat16>);
SHERD_CUDA_BODY(GatherRows<BFloat16, float>);
SHERD_CUDA_BODY(GatherRows<Float16, float>);
SHERD_CUDA_BODY(ScatterScaledRows<float>);
SHERD_CUDA_BODY(ScatterScaledRows<BFloat16>);
SHERD_CUDA_BODY(ScatterScaledRows<Float16>);
SHERD_CUDA_BODY(DotRows<float>);
SHERD_CUDA_BODY(DotRows<BFloat16>);
SHERD_CUDA_BODY(DotRows<Float16>);

}  // namespace sherd::kernel
