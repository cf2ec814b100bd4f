#include <fmt/format.h>

#include "sherd/base/error.hpp"
#include "sherd/tensor/tensor.hpp"
#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/body/convert.hpp"
#include "tensor/kernel/launch.hpp"

namespace sherd {
void convert(const Tensor& from, const Tensor& to) {
  kernel::require_memory({&from, &to}, "convert");
  if (from.numel() != to.numel()) {
    throw ArgumentError(fmt::format("convert from {} to {} elements", from.numel(), to.numel()));
  }
  if (from.dtype() == to.dtype()) {
    copy(from, to);
    return;
  }
  if (!is_floating(from.dtype()) || !is_floating(to.dtype())) {
    throw ArgumentError(fmt::format("convert from {} to {} (only floating types are converted)",
                                    to_string(from.dtype()), to_string(to.dtype())));
  }
  runtime::Device* device = kernel::device_of({&from, &to}, "convert");
  kernel::visit_dtype(from.dtype(), "convert", [&]<class From>(From) {
    kernel::visit_dtype(to.dtype(), "convert", [&]<class To>(To) {
      const kernel::Convert<From, To> body{from.data<From>(), to.data<To>()};
      kernel::launch_at(device, "sherd::convert", body, from.numel());
    });
  });
}

Tensor to_dtype(const Tensor& from, DType dtype) {
  if (from.is_meta()) {
    return Tensor::meta(from.shape(), dtype);
  }
  const Tensor to = Tensor::empty(from.shape(), dtype, from.where());
  convert(from, to);
  return to;
}

}  // namespace sherd
