#pragma once

#include <memory>
#include <string>

#include "sherd/tensor/tensor.hpp"

namespace sherd::autograd {

class Node;
struct VariableImpl;

/// Where a backward function writes one input's gradient: into `tensor`, replacing or adding.
struct GradTarget {
  Tensor tensor;
  bool accumulate = false;
};

/// A tensor that takes part in differentiation. Copying a Variable shares it (as in PyTorch).
/// A *leaf* is made by the caller (parameters, inputs); others come out of recorded operations.
class Variable {
 public:
  Variable() = default;
  explicit Variable(Tensor data, bool requires_grad = false);

  [[nodiscard]] bool defined() const noexcept { return impl_ != nullptr; }
  [[nodiscard]] const Tensor& data() const;
  [[nodiscard]] const Shape& shape() const { return data().shape(); }
  [[nodiscard]] DType dtype() const { return data().dtype(); }
  /// True for leaves that want a gradient and for results recorded from such.
  [[nodiscard]] bool requires_grad() const noexcept;
  [[nodiscard]] bool is_leaf() const noexcept;

  /// Leaf: whether it wants a gradient.
  void set_requires_grad(bool value);
  /// Leaf: points the variable at other memory of the same shape (a gathered parameter) or at a
  /// meta tensor (given back). Does not touch the gradient.
  void set_data(Tensor data);

  /// Leaf: the gradient accumulated by backward(); undefined if none. f32 for f16/bf16/f32 data,
  /// f64 for f64.
  [[nodiscard]] Tensor grad() const;
  /// Leaf: the memory the next backward() writes the gradient to; the first write overwrites, later
  /// ones add. Undefined tensor: back to memory of its own, without a gradient.
  /// `holds_gradient`: the buffer holds an earlier one, the first write adds too.
  void set_grad_buffer(Tensor buffer, bool holds_gradient = false);
  /// Leaf: whether a gradient has been written since the buffer was set (or since clear_grad()).
  [[nodiscard]] bool grad_written() const noexcept;
  /// Leaf: forgets the gradient; a buffer set by set_grad_buffer() stays and is overwritten next.
  void clear_grad();

  /// Identity of the shared variable (ties: two modules holding one parameter).
  [[nodiscard]] const void* identity() const noexcept { return impl_.get(); }
  [[nodiscard]] const std::shared_ptr<VariableImpl>& impl() const noexcept { return impl_; }
  explicit Variable(std::shared_ptr<VariableImpl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<VariableImpl> impl_;
};

}  // namespace sherd::autograd
