#pragma once

#include <initializer_list>

#include "sherd/base/check.hpp"
#include "sherd/runtime/device.hpp"
#include "sherd/tensor/tensor.hpp"

namespace sherd::kernel {

/// Throws ArgumentError unless every tensor has memory.
void require_memory(std::initializer_list<const Tensor*> tensors, const char* kernel);
/// Throws ArgumentError unless `tensor` has this shape and dtype; `what` names it in the message.
void require_like(const Tensor& tensor, const Shape& shape, DType dtype, const char* what);
/// The device that holds all of the tensors; null: all are in host (or pinned) memory. Throws
/// ArgumentError when they are in both, or on a device that is not the thread's. Undefined tensors
/// do not count.
[[nodiscard]] runtime::Device* device_of(std::initializer_list<const Tensor*> tensors,
                                         const char* kernel);
[[noreturn]] void throw_dtype(DType dtype, const char* kernel);

/// The dtype of statistics and reduced gradients beside `dtype`: f64 for f64, f32 otherwise.
[[nodiscard]] constexpr DType compute_dtype(DType dtype) noexcept {
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}

/// Calls f with a value of the element type.
template <class F>
void visit_dtype(DType dtype, const char* kernel, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float{});
    case DType::bf16:
      return f(BFloat16{});
    case DType::f16:
      return f(Float16{});
    case DType::f64:
      return f(double{});
    default:
      throw_dtype(dtype, kernel);
  }
}

}  // namespace sherd::kernel
