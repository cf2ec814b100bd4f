#include "autograd/destination.hpp"
#include "autograd/rows.hpp"
#include "sherd/autograd/functional.hpp"
#include "sherd/base/check.hpp"

namespace sherd::autograd {
namespace {

using kernel::Transpose;

void check_shapes(const Variable& x, const Variable& weight) {
  expect(x.shape().rank() >= 1 && weight.shape().rank() == 2,
         "linear needs [.., in] and [out, in]");
  expect(x.shape()[-1] == weight.shape()[1],
         "linear: the input's last dimension is not the weight's second");
}

Tensor product(const Tensor& rows, const Tensor& weight) {
  Tensor y = Tensor::empty({rows.size(0), weight.size(0)}, rows.dtype(), rows.where());
  kernel::matmul(rows, Transpose::no, weight, Transpose::yes, y);
  return y;
}

/// dx (+)= dy W; the first of several overwrites what the destination says, the others add.
void input_gradient(const Tensor& dy, const Tensor& weight, const Tensor& dx, kernel::Write write) {
  kernel::matmul(dy, Transpose::no, weight, Transpose::no, dx, write);
}

/// dW (+)= dy^T x, straight into the gradient buffer.
void weight_gradient(BackwardContext& context, std::size_t input, const Tensor& dy,
                     const Tensor& x) {
  if (!context.needs(input)) {
    return;
  }
  const GradTarget target = context.target(input);
  kernel::matmul(dy, Transpose::yes, x, Transpose::no, target.tensor,
                 target.accumulate ? kernel::Write::accumulate : kernel::Write::overwrite);
}

void bias_gradient(BackwardContext& context, std::size_t input, const Tensor& dy) {
  if (!context.needs(input)) {
    return;
  }
  const DType dtype = dy.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const Destination dbias(context, input, {dy.size(1)}, dtype, Destination::Kernel::can_accumulate);
  kernel::sum_rows(dy, dbias.tensor(), dbias.write());
  dbias.finish();
}

void linear_backward(BackwardContext& context, bool has_bias) {
  const Tensor dy = as_rows(context.grad_output(0));
  const Tensor x = context.saved(0);
  if (context.needs(0)) {
    const Tensor weight = context.saved(1);
    const Destination dx(context, 0, x.shape(), x.dtype(), Destination::Kernel::can_accumulate);
    input_gradient(dy, weight, dx.tensor(), dx.write());
    dx.finish();
  }
  weight_gradient(context, 1, dy, x);
  if (has_bias) {
    bias_gradient(context, 2, dy);
  }
}

/// Inputs x, W0, W1, ...; saved the same. Outputs that nothing depended on are left out.
void linear_multi_backward(BackwardContext& context, std::size_t count) {
  const Tensor x = context.saved(0);
  if (context.needs(0)) {
    const Destination dx(context, 0, x.shape(), x.dtype(), Destination::Kernel::can_accumulate);
    kernel::Write write = dx.write();
    for (std::size_t i = 0; i < count; ++i) {
      if (context.grad_output(i).defined()) {
        input_gradient(as_rows(context.grad_output(i)), context.saved(i + 1), dx.tensor(), write);
        write = kernel::Write::accumulate;
      }
    }
    dx.finish();
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (context.grad_output(i).defined()) {
      weight_gradient(context, i + 1, as_rows(context.grad_output(i)), x);
    }
  }
}

}  // namespace

Variable linear(const Variable& x, const Variable& weight, const Variable& bias) {
  check_shapes(x, weight);
  const Tensor rows = as_rows(x.data());
  std::vector<Variable> inputs{x, weight};
  if (bias.defined()) {
    inputs.push_back(bias);
  }
  std::vector<Tensor> saved{rows, weight.data()};
  about_to_compute(inputs, saved);
  const Tensor y = product(rows, weight.data());
  if (bias.defined()) {
    kernel::add_bias(y, bias.data(), y);
  }
  return record_one("linear", std::move(inputs), y.reshape(with_last(x.shape(), weight.shape()[0])),
                    std::move(saved), [has_bias = bias.defined()](BackwardContext& context) {
                      linear_backward(context, has_bias);
                    });
}

std::vector<Variable> linear_multi(const Variable& x, std::span<const Variable> weights) {
  const Tensor rows = as_rows(x.data());
  std::vector<Variable> inputs{x};
  std::vector<Tensor> saved{rows};
  for (const Variable& weight : weights) {
    check_shapes(x, weight);
    inputs.push_back(weight);
    saved.push_back(weight.data());
  }
  about_to_compute(inputs, saved);
  std::vector<Tensor> outputs;
  outputs.reserve(weights.size());
  for (const Variable& weight : weights) {
    outputs.push_back(
        product(rows, weight.data()).reshape(with_last(x.shape(), weight.shape()[0])));
  }
  return record("linear_multi", std::move(inputs), std::move(outputs), std::move(saved),
                [count = weights.size()](BackwardContext& context) {
                  linear_multi_backward(context, count);
                });
}

}  // namespace sherd::autograd
