#include "tensor/kernel/body/activation.hpp"
#include "tensor/kernel/body/convert.hpp"
#include "tensor/kernel/body/linear.hpp"
#include "tensor/kernel/body/swiglu.hpp"
#include "tensor/kernel/cuda/launch_cuda.hpp"

namespace sherd::kernel {

#define SHERD_CUDA_ACTIVATION(Body, F) \
  SHERD_CUDA_BODY(Body<float, F>);     \
  SHERD_CUDA_BODY(Body<double, F>);    \
  SHERD_CUDA_BODY(Body<BFloat16, F>);  \
  SHERD_CUDA_BODY(Body<Float16, F>)

SHERD_CUDA_BODIES(SwigluForward);
SHERD_CUDA_BODIES(SwigluBackward);
SHERD_CUDA_BODIES(Add);
SHERD_CUDA_PAIRS(ScaleInto);
SHERD_CUDA_PAIRS(Convert);
SHERD_CUDA_ACTIVATION(ActivationForward, Relu);
SHERD_CUDA_ACTIVATION(ActivationForward, Tanh);
SHERD_CUDA_ACTIVATION(ActivationForward, Silu);
SHERD_CUDA_ACTIVATION(ActivationForward, GeluTanh);
SHERD_CUDA_ACTIVATION(ActivationBackward, Relu);
SHERD_CUDA_ACTIVATION(ActivationBackward, Tanh);
SHERD_CUDA_ACTIVATION(ActivationBackward, Silu);
SHERD_CUDA_ACTIVATION(ActivationBackward, GeluTanh);

}  // namespace sherd::kernel
