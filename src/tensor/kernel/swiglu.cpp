#include "tensor/kernel/body/swiglu.hpp"

#include "sherd/tensor/kernel/elementwise.hpp"
#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/launch.hpp"

namespace sherd::kernel {

void swiglu_forward(const Tensor& gate, const Tensor& up, const Tensor& y, Path path) {
  require_memory({&gate}, "swiglu_forward");
  require_like(up, gate.shape(), gate.dtype(), "swiglu_forward: up");
  require_like(y, gate.shape(), gate.dtype(), "swiglu_forward: y");
  runtime::Device* device = device_of({&gate, &up, &y}, "swiglu_forward");
  visit_dtype(gate.dtype(), "swiglu_forward", [&]<class T>(T) {
    const SwigluForward<T> body{gate.data<T>(), up.data<T>(), y.data<T>()};
    launch("sherd::swiglu_forward", body, gate.numel(), device, path);
  });
}

void swiglu_backward(const Tensor& gate, const Tensor& up, const Tensor& dy, const Tensor& dgate,
                     const Tensor& dup, Path path) {
  require_memory({&gate}, "swiglu_backward");
  require_like(up, gate.shape(), gate.dtype(), "swiglu_backward: up");
  require_like(dy, gate.shape(), gate.dtype(), "swiglu_backward: dy");
  require_like(dgate, gate.shape(), gate.dtype(), "swiglu_backward: dgate");
  require_like(dup, gate.shape(), gate.dtype(), "swiglu_backward: dup");
  runtime::Device* device = device_of({&gate, &up, &dy, &dgate, &dup}, "swiglu_backward");
  visit_dtype(gate.dtype(), "swiglu_backward", [&]<class T>(T) {
    const SwigluBackward<T> body{gate.data<T>(), up.data<T>(), dy.data<T>(), dgate.data<T>(),
                                 dup.data<T>()};
    launch("sherd::swiglu_backward", body, gate.numel(), device, path);
  });
}

}  // namespace sherd::kernel
