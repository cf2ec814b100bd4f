#include "tensor/kernel/body/activation.hpp"

#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/launch.hpp"

namespace sherd::kernel {
namespace {

template <class F>
void visit_activation(Activation kind, F&& f) {
  switch (kind) {
    case Activation::relu:
      return f(Relu{});
    case Activation::tanh:
      return f(Tanh{});
    case Activation::silu:
      return f(Silu{});
    case Activation::gelu_tanh:
      return f(GeluTanh{});
  }
}

}  // namespace

void activation_forward(Activation kind, const Tensor& x, const Tensor& y) {
  require_memory({&x}, "activation_forward");
  require_like(y, x.shape(), x.dtype(), "activation_forward: y");
  runtime::Device* device = device_of({&x, &y}, "activation_forward");
  visit_dtype(x.dtype(), "activation_forward", [&]<class T>(T) {
    visit_activation(kind, [&]<class F>(F) {
      const ActivationForward<T, F> body{x.data<T>(), y.data<T>()};
      launch_at(device, "sherd::activation_forward", body, x.numel());
    });
  });
}

void activation_backward(Activation kind, const Tensor& x, const Tensor& dy, const Tensor& dx,
                         Write write_dx) {
  require_memory({&x}, "activation_backward");
  require_like(dy, x.shape(), x.dtype(), "activation_backward: dy");
  require_like(dx, x.shape(), x.dtype(), "activation_backward: dx");
  runtime::Device* device = device_of({&x, &dy, &dx}, "activation_backward");
  visit_dtype(x.dtype(), "activation_backward", [&]<class T>(T) {
    visit_activation(kind, [&]<class F>(F) {
      const ActivationBackward<T, F> body{x.data<T>(), dy.data<T>(), dx.data<T>(),
                                          write_dx == Write::accumulate};
      launch_at(device, "sherd::activation_backward", body, x.numel());
    });
  });
}

}  // namespace sherd::kernel
