#include "autograd/destination.hpp"
#include "autograd/grad_slot.hpp"
#include "autograd/rows.hpp"
#include "sherd/autograd/functional.hpp"
#include "sherd/base/check.hpp"
#include "sherd/tensor/kernel/elementwise.hpp"
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
  const Tensor dlogits =
      mine ? logits : Tensor::empty(logits.shape(), logits.dtype(), logits.where());
  kernel::cross_entropy_backward(logits, context.saved(1), context.saved(2), scale, dlogits);
  context.pass(0, dlogits.reshape(shape));
}

template <class T>
double wide(T value) {
  if constexpr (sizeof(T) == 2) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
T narrow(double value) {
  if constexpr (sizeof(T) == 2) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
double sum_of_squared_errors(const Tensor& x, const Tensor& target) {
  const auto a = x.span<T>();
  const auto b = target.span<T>();
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double error = wide(a[i]) - wide(b[i]);
    sum += error * error;
  }
  return sum;
}

template <class T>
void write_squared_error_grad(const Tensor& x, const Tensor& target, double scale,
                              const Tensor& dx) {
  const auto a = x.span<T>();
  const auto b = target.span<T>();
  const auto d = dx.span<T>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    d[i] = narrow<T>(2.0 * scale * (wide(a[i]) - wide(b[i])));
  }
}

template <class F>
auto visit_floating(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f(double{});
    case DType::bf16:
      return f(BFloat16{});
    case DType::f16:
      return f(Float16{});
    default:
      return f(float{});
  }
}

/// Input and saved: x; saved: the target.
void squared_error_grad(BackwardContext& context, double weight) {
  const Tensor x = context.saved(0);
  const double scale = weight * *context.grad_output(0).data<double>();
  const Destination dx(context, 0, x.shape(), x.dtype(), Destination::Kernel::overwrites);
  const Tensor values = x.is_on_device() ? Tensor::empty(x.shape(), x.dtype()) : dx.tensor();
  visit_floating(x.dtype(), [&]<class T>(T) {
    write_squared_error_grad<T>(to_host(x), to_host(context.saved(1)), scale, values);
  });
  if (x.is_on_device()) {
    copy(values, dx.tensor());
  }
  dx.finish();
}

/// The sum of f64 values, in order; in two passes where one thread of a device would add for long.
Tensor sum_of(const Tensor& values) {
  constexpr std::int64_t kLanes = 256;
  if (values.is_on_device() && values.numel() > kLanes && values.numel() % kLanes == 0) {
    const Tensor lanes = Tensor::empty({kLanes}, DType::f64, values.where());
    kernel::sum_rows(values.reshape({values.numel() / kLanes, kLanes}), lanes,
                     kernel::Write::overwrite);
    return sum_of(lanes);
  }
  const Tensor sum = Tensor::empty({1}, DType::f64, values.where());
  kernel::sum_rows(values.reshape({values.numel(), 1}), sum, kernel::Write::overwrite);
  return sum.reshape({});
}

/// `weight` times the sum of the values, where they are, without waiting for a device.
Tensor weighted_sum(const Tensor& values, double weight) {
  const Tensor result = Tensor::empty({}, DType::f64, values.where());
  kernel::scale_into(weight, sum_of(values), result, kernel::Write::overwrite);
  return result;
}

}  // namespace

Variable cross_entropy(const Variable& logits, const Tensor& targets, double weight) {
  const Tensor rows = as_rows(logits.data());
  expect(targets.defined() && targets.dtype() == DType::i32 && targets.numel() == rows.size(0),
         "cross_entropy needs one i32 target for each row of logits");
  const Tensor flat = targets.reshape({targets.numel()});
  const Tensor lse = Tensor::empty({rows.size(0)}, leaf_grad_dtype(rows.dtype()), rows.where());
  const Tensor loss = weighted_sum(kernel::cross_entropy_losses(rows, flat, lse), weight);
  return record_one("cross_entropy", {logits}, loss, {rows, flat, lse},
                    [weight, shape = logits.shape()](BackwardContext& context) {
                      cross_entropy_grad(context, weight, shape);
                    });
}

Variable squared_error(const Variable& x, const Tensor& target, double weight) {
  expect(target.defined() && target.shape() == x.shape() && target.dtype() == x.dtype(),
         "squared_error needs a target of x's shape and type");
  expect(is_floating(x.dtype()), "squared_error is for floating types. Try: cast(x, DType::f32)");
  const double sum = visit_floating(x.dtype(), [&]<class T>(T) {
    return sum_of_squared_errors<T>(to_host(x.data()), to_host(target));
  });
  return record_one("squared_error", {x}, scalar(weight * sum), {x.data(), target},
                    [weight](BackwardContext& context) { squared_error_grad(context, weight); });
}

}  // namespace sherd::autograd
