#include "autograd/grad_slot.hpp"

#include "sherd/base/check.hpp"
#include "sherd/tensor/kernel/elementwise.hpp"

namespace sherd::autograd {
namespace {

void add_into(const Tensor& gradient, GradSlot& slot) {
  if (gradient.dtype() != slot.tensor.dtype()) {
    kernel::scale_into(1.0, gradient, slot.tensor, kernel::Write::accumulate);
    return;
  }
  const bool shared = slot.may_share && slot.tensor.shares_storage();
  const Tensor sum = shared ? Tensor::empty(slot.shape, slot.tensor.dtype()) : slot.tensor;
  kernel::add(slot.tensor, gradient, sum);
  slot.tensor = sum;
}

}  // namespace

GradTarget GradSlot::target() {
  if (!tensor.defined()) {
    tensor = Tensor::empty(shape, dtype);
  } else if (written && may_share && tensor.shares_storage()) {
    tensor = tensor.clone();
  }
  GradTarget result{tensor, written};
  written = true;
  return result;
}

void GradSlot::pass(Tensor gradient) {
  if (!gradient.defined()) {
    return;
  }
  expect(gradient.shape() == shape, "a gradient has another shape than its variable");
  if (written) {
    add_into(gradient, *this);
  } else if (may_share && gradient.dtype() == dtype) {
    tensor = std::move(gradient);
  } else {
    if (!tensor.defined()) {
      tensor = Tensor::empty(shape, dtype);
    }
    convert(gradient, tensor);
  }
  written = true;
}

void GradSlot::clear() {
  tensor = Tensor();
  written = false;
}

}  // namespace sherd::autograd
