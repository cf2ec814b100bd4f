#include "tensor/kernel/arguments.hpp"

#include <fmt/format.h>

#include "tensor/kernel/launch.hpp"

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

runtime::Device* device_of(std::initializer_list<const Tensor*> tensors, const char* kernel) {
  runtime::Device* device = nullptr;
  bool on_host = false;
  for (const Tensor* tensor : tensors) {
    if (!tensor->defined()) {
      continue;
    }
    on_host = on_host || !tensor->is_on_device();
    if (tensor->is_on_device()) {
      device = tensor->device();
      if (device != runtime::current_device()) {
        throw ArgumentError(fmt::format(
            "{} on a device that is not this thread's. Try: a runtime::DeviceScope", kernel));
      }
    }
  }
  if (device != nullptr && on_host) {
    throw ArgumentError(fmt::format(
        "{}: some tensors are on the device and some are not. Try: to_device()", kernel));
  }
  return device;
}

void throw_without_kokkos() {
  throw ArgumentError("a Kokkos kernel before Kokkos is initialised. Try: a sherd::Runtime first");
}

void throw_dtype(DType dtype, const char* kernel) {
  throw ArgumentError(
      fmt::format("{} on {} (kernels compute on f32, bf16, f16 and f64). Try: to_dtype()", kernel,
                  to_string(dtype)));
}

}  // namespace sherd::kernel
