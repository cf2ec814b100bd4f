#pragma once

#include <cstddef>

#include "sherd/autograd/function.hpp"
#include "sherd/tensor/kernel/matmul.hpp"

namespace sherd::autograd {

/// The memory a backward kernel writes an input's gradient to: the gradient's own wherever the
/// kernel can write there directly, otherwise a temporary that finish() adds.
class Destination {
 public:
  enum class Kernel { overwrites, can_accumulate };

  /// `dtype`: what the kernel writes. For an input that wants no gradient: a temporary, dropped.
  Destination(BackwardContext& context, std::size_t input, const Shape& shape, DType dtype,
              Kernel kernel);

  /// The kernel's output under the shape asked for.
  [[nodiscard]] const Tensor& tensor() const noexcept { return tensor_; }
  [[nodiscard]] kernel::Write write() const noexcept { return write_; }
  /// To be called once the kernel has written.
  void finish() const;

 private:
  GradTarget target_;
  Tensor tensor_;
  kernel::Write write_ = kernel::Write::overwrite;
  bool direct_ = false;
};

}  // namespace sherd::autograd
