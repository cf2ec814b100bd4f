#include "sherd/tensor/kernel/elementwise.hpp"

#include "autograd/destination.hpp"
#include "sherd/autograd/functional.hpp"
#include "sherd/base/check.hpp"

namespace sherd::autograd {
namespace {

void swiglu_grad(BackwardContext& context) {
  const Tensor gate = context.saved(0);
  const Tensor up = context.saved(1);
  constexpr auto kOverwrites = Destination::Kernel::overwrites;
  const Destination dgate(context, 0, gate.shape(), gate.dtype(), kOverwrites);
  const Destination dup(context, 1, up.shape(), up.dtype(), kOverwrites);
  kernel::swiglu_backward(gate, up, context.grad_output(0), dgate.tensor(), dup.tensor());
  dgate.finish();
  dup.finish();
}

void activation_grad(kernel::Activation kind, BackwardContext& context) {
  const Tensor x = context.saved(0);
  const Destination dx(context, 0, x.shape(), x.dtype(), Destination::Kernel::can_accumulate);
  kernel::activation_backward(kind, x, context.grad_output(0), dx.tensor(), dx.write());
  dx.finish();
}

}  // namespace

Variable add(const Variable& a, const Variable& b) {
  expect(a.shape() == b.shape() && a.dtype() == b.dtype(), "add needs equal shapes and types");
  const Tensor sum = Tensor::empty(a.shape(), a.dtype(), a.data().where());
  kernel::add(a.data(), b.data(), sum);
  return record_one("add", {a, b}, sum, {}, [](BackwardContext& context) {
    context.pass(0, context.grad_output(0));
    context.pass(1, context.grad_output(0));
  });
}

Variable swiglu(const Variable& gate, const Variable& up) {
  expect(gate.shape() == up.shape() && gate.dtype() == up.dtype(),
         "swiglu needs equal shapes and types");
  std::vector<Variable> inputs{gate, up};
  std::vector<Tensor> saved{gate.data(), up.data()};
  about_to_compute(inputs, saved);
  const Tensor y = Tensor::empty(gate.shape(), gate.dtype(), gate.data().where());
  kernel::swiglu_forward(gate.data(), up.data(), y);
  return record_one("swiglu", std::move(inputs), y, std::move(saved), swiglu_grad);
}

Variable activation(kernel::Activation kind, const Variable& x) {
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.data().where());
  kernel::activation_forward(kind, x.data(), y);
  return record_one("activation", {x}, y, {x.data()},
                    [kind](BackwardContext& context) { activation_grad(kind, context); });
}

Variable cast(const Variable& x, DType dtype) {
  if (x.dtype() == dtype) {
    return x;
  }
  return record_one("cast", {x}, to_dtype(x.data(), dtype), {}, [](BackwardContext& context) {
    const GradTarget dx = context.target(0);
    kernel::scale_into(1.0, context.grad_output(0), dx.tensor,
                       dx.accumulate ? kernel::Write::accumulate : kernel::Write::overwrite);
  });
}

Variable reshape(const Variable& x, Shape shape) {
  return record_one("reshape", {x}, x.data().reshape(std::move(shape)), {},
                    [original = x.shape()](BackwardContext& context) {
                      context.pass(0, context.grad_output(0).reshape(original));
                    });
}

}  // namespace sherd::autograd
