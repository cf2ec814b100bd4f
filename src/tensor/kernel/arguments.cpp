#include "tensor/kernel/arguments.hpp"

#include <fmt/format.h>

namespace sherd::kernel {

void require_memory(std::initializer_list<const Tensor*> tensors, const char* kernel) {
  for (const Tensor* tensor : tensors) {
    if (!tensor->defined() || tensor->is_meta()) {
      throw ArgumentError(fmt::format("{}: a tensor without memory ({})", kernel,
                                      tensor->defined() ? "a meta tensor" : "it is undefined"));
    }
  }
}

void require_like(const Tensor& tensor, const Shape& shape, DType dtype, const char* what) {
  if (!tensor.defined() || tensor.is_meta()) {
    throw ArgumentError(fmt::format("{}: a tensor without memory", what));
  }
  if (tensor.shape() != shape || tensor.dtype() != dtype) {
    throw ArgumentError(fmt::format("{}: {} {} where {} {} is needed", what,
                                    to_string(tensor.dtype()), tensor.shape().to_string(),
                                    to_string(dtype), shape.to_string()));
  }
}

void throw_dtype(DType dtype, const char* kernel) {
  throw ArgumentError(
      fmt::format("{} on {} (kernels compute on f32, bf16, f16 and f64). Try: to_dtype()", kernel,
                  to_string(dtype)));
}

}  // namespace sherd::kernel
