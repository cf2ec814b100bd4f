#include "autograd/destination.hpp"
#include "autograd/grad_slot.hpp"
#include "autograd/rows.hpp"
#include "sherd/autograd/functional.hpp"
#include "sherd/base/check.hpp"
#include "sherd/tensor/kernel/norm.hpp"

namespace sherd::autograd {
namespace {

/// Inputs x, weight; saved x, weight, inverse rms.
void rms_norm_grad(BackwardContext& context) {
  const Tensor x = context.saved(0);
  const Tensor weight = context.saved(1);
  const bool wants_x = context.needs(0);
  const bool wants_weight = context.needs(1);
  constexpr auto kAccumulates = Destination::Kernel::can_accumulate;
  const Destination dx(context, 0, wants_x ? x.shape() : Shape{0}, x.dtype(), kAccumulates);
  const Destination dweight(context, 1, wants_weight ? weight.shape() : Shape{0},
                            leaf_grad_dtype(x.dtype()), kAccumulates);
  kernel::rms_norm_backward(x, weight, context.saved(2), as_rows(context.grad_output(0)),
                            wants_x ? dx.tensor() : Tensor(), dx.write(),
                            wants_weight ? dweight.tensor() : Tensor(), dweight.write());
  dx.finish();
  dweight.finish();
}

}  // namespace

Variable rms_norm(const Variable& x, const Variable& weight, double eps) {
  expect(x.shape().rank() >= 1 && weight.shape() == Shape{x.shape()[-1]},
         "rms_norm needs one weight for each element of the last dimension");
  const Tensor rows = as_rows(x.data());
  const Tensor y = Tensor::empty(rows.shape(), rows.dtype(), rows.where());
  const Tensor inverse_rms =
      Tensor::empty({rows.size(0)}, leaf_grad_dtype(rows.dtype()), rows.where());
  kernel::rms_norm_forward(rows, weight.data(), eps, y, inverse_rms);
  return record_one("rms_norm", {x, weight}, y.reshape(x.shape()),
                    {rows, weight.data(), inverse_rms}, rms_norm_grad);
}

}  // namespace sherd::autograd
