#include "autograd/grad_slot.hpp"

#include "sherd/base/check.hpp"
#include "sherd/tensor/kernel/elementwise.hpp"

namespace sherd::autograd {
namespace {

/// What `a` and `b` add up to, in `sum`, which may be `a`.
void add_up(const Tensor& a, const Tensor& b, const Tensor& sum) {
  if (a.dtype() == b.dtype()) {
    kernel::add(a, b, sum);
    return;
  }
  if (sum.raw() != a.raw()) {
    convert(a, sum);
  }
  kernel::scale_into(1.0, b, sum, kernel::Write::accumulate);
}

}  // namespace

GradTarget GradSlot::target() {
  if (!tensor.defined()) {
    tensor = Tensor::empty(shape, dtype, where);
  } else if (written && others_hold_it()) {
    tensor = tensor.clone();
  }
  GradTarget result{tensor, written};
  written = true;
  borrowed = false;
  return result;
}

void GradSlot::pass(Tensor gradient) {
  if (!gradient.defined()) {
    return;
  }
  expect(gradient.shape() == shape, "a gradient has another shape than its variable");
  if (written) {
    const Tensor sum = others_hold_it() ? Tensor::empty(shape, dtype, where) : tensor;
    add_up(tensor, gradient, sum);
    tensor = sum;
    borrowed = false;
  } else if (may_share && gradient.dtype() == dtype) {
    tensor = std::move(gradient);
    borrowed = true;
  } else {
    if (!tensor.defined()) {
      tensor = Tensor::empty(shape, dtype, where);
    }
    convert(gradient, tensor);
  }
  written = true;
}

void GradSlot::clear() {
  tensor = Tensor();
  written = false;
  borrowed = false;
}

}  // namespace sherd::autograd
