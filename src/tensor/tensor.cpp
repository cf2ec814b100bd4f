#include "sherd/tensor/tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sherd/base/error.hpp"

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

Tensor Tensor::empty(Shape shape, DType dtype) {
  Tensor tensor = meta(std::move(shape), dtype);
  tensor.storage_ = Storage::allocate(tensor.nbytes());
  return tensor;
}

Tensor Tensor::zeros(Shape shape, DType dtype) {
  Tensor tensor = empty(std::move(shape), dtype);
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
  Tensor copy = empty(shape_, dtype_);
  std::memcpy(copy.raw(), raw(), nbytes());
  return copy;
}

void Tensor::fill_zero() const {
  if (nbytes() > 0 && storage_) {
    std::memset(raw(), 0, nbytes());
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

}  // namespace sherd
