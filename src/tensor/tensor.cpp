#include "sherd/tensor/tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sherd/base/check.hpp"
#include "sherd/runtime/device.hpp"
#include "tensor/host_bytes.hpp"

namespace sherd {
namespace {

void require_extents(const Shape& shape) {
  const auto& extents = shape.extents();
  if (std::any_of(extents.begin(), extents.end(), [](std::int64_t e) { return e < 0; })) {
    throw ArgumentError(
        fmt::format("a tensor of shape {} (extents cannot be negative)", shape.to_string()));
  }
}

std::size_t bytes_of(const Shape& shape, DType dtype) noexcept {
  return static_cast<std::size_t>(shape.numel()) * size_of(dtype);
}

}  // namespace

Tensor Tensor::meta(Shape shape, DType dtype) {
  require_extents(shape);
  Tensor tensor;
  tensor.shape_ = std::move(shape);
  tensor.dtype_ = dtype;
  tensor.defined_ = true;
  return tensor;
}

Tensor Tensor::empty(Shape shape, DType dtype, MemoryKind where) {
  Tensor tensor = meta(std::move(shape), dtype);
  tensor.storage_ = Storage::allocate(tensor.nbytes(), where);
  return tensor;
}

Tensor Tensor::zeros(Shape shape, DType dtype, MemoryKind where) {
  Tensor tensor = empty(std::move(shape), dtype, where);
  tensor.fill_zero();
  return tensor;
}

Tensor Tensor::view(std::shared_ptr<Storage> storage, std::size_t byte_offset, Shape shape,
                    DType dtype) {
  Tensor tensor = meta(std::move(shape), dtype);
  if (!storage) {
    throw ArgumentError("a view without a storage. Try: Tensor::meta for shape and dtype alone");
  }
  if (byte_offset > storage->size() || tensor.nbytes() > storage->size() - byte_offset) {
    throw ArgumentError(
        fmt::format("a view of {} bytes at offset {} does not fit (the storage has {} bytes)",
                    tensor.nbytes(), byte_offset, storage->size()));
  }
  tensor.storage_ = std::move(storage);
  tensor.byte_offset_ = byte_offset;
  return tensor;
}

std::size_t Tensor::nbytes() const noexcept { return defined_ ? bytes_of(shape_, dtype_) : 0; }

std::byte* Tensor::raw() const noexcept {
  return storage_ ? storage_->data() + byte_offset_ : nullptr;
}

Tensor Tensor::reshape(Shape shape) const {
  require_extents(shape);
  if (!defined_ || shape.numel() != shape_.numel()) {
    throw ArgumentError(fmt::format("reshape of {} to {} (the number of elements must stay)",
                                    defined_ ? shape_.to_string() : "an undefined tensor",
                                    shape.to_string()));
  }
  Tensor tensor = *this;
  tensor.shape_ = std::move(shape);
  return tensor;
}

Tensor Tensor::slice(std::int64_t begin, std::int64_t count) const {
  if (!defined_ || begin < 0 || count < 0 || begin > numel() || count > numel() - begin) {
    throw ArgumentError(fmt::format("slice of {} elements from {} (the tensor has {})", count,
                                    begin, defined_ ? numel() : 0));
  }
  Tensor tensor = *this;
  tensor.shape_ = Shape{count};
  tensor.byte_offset_ += static_cast<std::size_t>(begin) * size_of(dtype_);
  return tensor;
}

Tensor Tensor::clone() const {
  if (!storage_) {
    return *this;
  }
  Tensor result = empty(shape_, dtype_, where());
  copy(*this, result);
  return result;
}

void Tensor::fill_zero() const {
  if (nbytes() == 0 || !storage_) {
    return;
  }
  if (is_on_device()) {
    device()->compute_stream().fill_zero(raw(), nbytes());
  } else {
    clear_bytes(raw(), nbytes());
  }
}

void Tensor::require_host() const {
  if (is_on_device()) {
    throw ArgumentError("elements of a device tensor asked for on the host. Try: to_host()");
  }
}

void Tensor::require_dtype(DType wanted) const {
  if (!storage_) {
    throw ArgumentError(defined_ ? "data of a meta tensor (it has no memory). Try: materialise it"
                                 : "data of an undefined tensor");
  }
  if (wanted != dtype_) {
    throw ArgumentError(fmt::format("{} data asked from a tensor of {}. Try: to_dtype()",
                                    to_string(wanted), to_string(dtype_)));
  }
}

void copy(const Tensor& from, const Tensor& to) {
  expect(from.defined() && to.defined() && !from.is_meta() && !to.is_meta(),
         "copy: a tensor without memory");
  expect(from.numel() == to.numel() && from.dtype() == to.dtype(),
         "copy between tensors of different length or dtype. Try: convert()");
  if (from.nbytes() == 0) {
    return;
  }
  if (!from.is_on_device() && !to.is_on_device()) {
    copy_bytes(to.raw(), from.raw(), from.nbytes());
    return;
  }
  runtime::Device* device = from.is_on_device() ? from.device() : to.device();
  runtime::Stream& stream = device->compute_stream();
  if (from.where() == MemoryKind::host) {
    stream.upload(to.raw(), from.raw(), from.nbytes());
    return;
  }
  stream.copy(to.raw(), from.raw(), from.nbytes());
  if (to.where() == MemoryKind::host) {
    stream.synchronize();
  }
}

Tensor to_device(const Tensor& from) {
  if (from.is_on_device() || from.is_meta() || !from.defined()) {
    return from;
  }
  Tensor to = Tensor::empty(from.shape(), from.dtype(), MemoryKind::device);
  copy(from, to);
  return to;
}

Tensor to_host(const Tensor& from) {
  if (!from.is_on_device()) {
    return from;
  }
  Tensor to = Tensor::empty(from.shape(), from.dtype());
  copy(from, to);
  return to;
}

}  // namespace sherd
