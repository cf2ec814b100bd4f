#include "autograd/destination.hpp"
#include "autograd/grad_slot.hpp"
#include "autograd/rows.hpp"
#include "sherd/autograd/functional.hpp"
#include "sherd/base/check.hpp"
#include "sherd/tensor/kernel/embedding.hpp"

namespace sherd::autograd {
namespace {

Tensor scalar(double value) {
  Tensor result = Tensor::empty({}, DType::f64);
  *result.data<double>() = value;
  return result;
}

/// Input: the logits; saved: logits, targets, log-sum-exp of each row. The gradient takes the
/// logits' place in memory where nobody else holds them: both can be the largest tensors of a step.
void cross_entropy_grad(BackwardContext& context, double weight, const Shape& shape) {
  const Tensor logits = context.take_saved(0);
  const double scale = weight * *context.grad_output(0).data<double>();
  const bool mine = !logits.shares_storage();
  const Tensor dlogits = mine ? logits : Tensor::empty(logits.shape(), logits.dtype());
  kernel::cross_entropy_backward(logits, context.saved(1), context.saved(2), scale, dlogits);
  context.pass(0, dlogits.reshape(shape));
}

template <class T>
double sum_of_squared_errors(const Tensor& x, const Tensor& target) {
  const auto a = x.span<T>();
  const auto b = target.span<T>();
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double error = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += error * error;
  }
  return sum;
}

template <class T>
void squared_error_grad(const Tensor& x, const Tensor& target, double scale, const Tensor& dx) {
  const auto a = x.span<T>();
  const auto b = target.span<T>();
  const auto d = dx.span<T>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    d[i] = static_cast<T>(2.0 * scale * (static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
}

}  // namespace

Variable cross_entropy(const Variable& logits, const Tensor& targets, double weight) {
  const Tensor rows = as_rows(logits.data());
  expect(targets.defined() && targets.dtype() == DType::i32 && targets.numel() == rows.size(0),
         "cross_entropy needs one i32 target for each row of logits");
  const Tensor flat = targets.reshape({targets.numel()});
  const Tensor lse = Tensor::empty({rows.size(0)}, leaf_grad_dtype(rows.dtype()));
  const double sum = kernel::cross_entropy_forward(rows, flat, lse);
  return record_one("cross_entropy", {logits}, scalar(weight * sum), {rows, flat, lse},
                    [weight, shape = logits.shape()](BackwardContext& context) {
                      cross_entropy_grad(context, weight, shape);
                    });
}

Variable squared_error(const Variable& x, const Tensor& target, double weight) {
  expect(target.defined() && target.shape() == x.shape() && target.dtype() == x.dtype(),
         "squared_error needs a target of x's shape and type");
  expect(x.dtype() == DType::f32 || x.dtype() == DType::f64,
         "squared_error is for f32 and f64. Try: cast(x, DType::f32) first");
  const bool wide = x.dtype() == DType::f64;
  const double sum = wide ? sum_of_squared_errors<double>(x.data(), target)
                          : sum_of_squared_errors<float>(x.data(), target);
  return record_one("squared_error", {x}, scalar(weight * sum), {x.data(), target},
                    [weight, wide](BackwardContext& context) {
                      const Tensor data = context.saved(0);
                      const double scale = weight * *context.grad_output(0).data<double>();
                      const Destination dx(context, 0, data.shape(), data.dtype(),
                                           Destination::Kernel::overwrites);
                      auto* grad = wide ? squared_error_grad<double> : squared_error_grad<float>;
                      grad(data, context.saved(1), scale, dx.tensor());
                      dx.finish();
                    });
}

}  // namespace sherd::autograd
