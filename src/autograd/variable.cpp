#include "sherd/autograd/variable.hpp"

#include "autograd/variable_impl.hpp"
#include "sherd/base/check.hpp"

namespace sherd::autograd {
namespace {

VariableImpl& leaf_of(const std::shared_ptr<VariableImpl>& impl) {
  expect(impl != nullptr, "the Variable is empty. Try: make it from a Tensor first");
  expect(impl->leaf, "this is for leaves only (the Variable is the result of an operation)");
  return *impl;
}

}  // namespace

Variable::Variable(Tensor data, bool requires_grad) : impl_(std::make_shared<VariableImpl>()) {
  expect(data.defined(), "a Variable needs a defined Tensor");
  impl_->grad.may_share = false;
  impl_->grad.shape = data.shape();
  impl_->grad.dtype = leaf_grad_dtype(data.dtype());
  impl_->grad.where = GradSlot::where_for(data.shape(), data.where());
  impl_->data = std::move(data);
  set_requires_grad(requires_grad);
}

const Tensor& Variable::data() const {
  expect(impl_ != nullptr, "the Variable is empty. Try: make it from a Tensor first");
  return impl_->data;
}

bool Variable::requires_grad() const noexcept { return impl_ && impl_->requires_grad; }

bool Variable::is_leaf() const noexcept { return impl_ && impl_->leaf; }

void Variable::set_requires_grad(bool value) {
  VariableImpl& leaf = leaf_of(impl_);
  expect(!value || is_floating(leaf.data.dtype()), "only floating-point data can want a gradient");
  leaf.requires_grad = value;
}

void Variable::set_data(Tensor data) {
  VariableImpl& leaf = leaf_of(impl_);
  expect(data.defined() && data.shape() == leaf.data.shape(),
         "set_data() needs a tensor of the Variable's shape (gradients are laid out by it)");
  if (!leaf.external_buffer && !leaf.grad.written) {
    leaf.grad.dtype = leaf_grad_dtype(data.dtype());
    leaf.grad.where = GradSlot::where_for(data.shape(), data.where());
  }
  leaf.data = std::move(data);
}

Tensor Variable::grad() const {
  const VariableImpl& leaf = leaf_of(impl_);
  return leaf.grad.written ? leaf.grad.tensor : Tensor();
}

void Variable::set_grad_buffer(Tensor buffer, bool holds_gradient) {
  VariableImpl& leaf = leaf_of(impl_);
  leaf.grad.clear();
  leaf.external_buffer = buffer.defined();
  leaf.grad.dtype = leaf_grad_dtype(leaf.data.dtype());
  if (buffer.defined()) {
    expect(buffer.shape() == leaf.data.shape() && is_floating(buffer.dtype()),
           "a gradient buffer needs the Variable's shape and a floating type");
    leaf.grad.dtype = buffer.dtype();
    leaf.grad.tensor = std::move(buffer);
    leaf.grad.written = holds_gradient;
  }
}

bool Variable::grad_written() const noexcept { return impl_ && impl_->grad.written; }

void Variable::clear_grad() {
  VariableImpl& leaf = leaf_of(impl_);
  if (leaf.external_buffer) {
    leaf.grad.written = false;
  } else {
    leaf.grad.clear();
  }
}

}  // namespace sherd::autograd
