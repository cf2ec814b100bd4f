#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "sherd/base/dtype.hpp"
#include "sherd/base/half.hpp"
#include "sherd/tensor/shape.hpp"

namespace sherd {

/// Host memory, 64-byte aligned, taken from a recycling pool: a buffer that is dropped is handed
/// out again to the next request of its size class, so a training step in its steady state maps no
/// new pages. Large blocks are 2 MiB aligned and marked for huge pages. Thread-safe.
class Storage {
 public:
  static std::shared_ptr<Storage> allocate(std::size_t bytes);
  /// Memory somebody else owns; `keep_alive` is held as long as the storage (may be null).
  static std::shared_ptr<Storage> borrow(std::byte* data, std::size_t bytes,
                                         std::shared_ptr<void> keep_alive = nullptr);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }

 private:
  Storage(std::byte* data, std::size_t bytes, bool pooled, std::shared_ptr<void> keep_alive);

  std::byte* data_;
  std::size_t bytes_;
  bool pooled_;
  std::shared_ptr<void> keep_alive_;
};

/// A dense row-major array. Copying a Tensor shares its storage. A default-made Tensor is empty
/// (defined() is false); a *meta* tensor has shape and dtype but no storage.
class Tensor {
 public:
  Tensor() = default;
  /// Uninitialised memory from the pool.
  static Tensor empty(Shape shape, DType dtype);
  static Tensor zeros(Shape shape, DType dtype);
  static Tensor meta(Shape shape, DType dtype);
  /// Views `storage` from `byte_offset` on. Throws ArgumentError if it does not fit.
  static Tensor view(std::shared_ptr<Storage> storage, std::size_t byte_offset, Shape shape,
                     DType dtype);

  [[nodiscard]] bool defined() const noexcept { return defined_; }
  [[nodiscard]] bool is_meta() const noexcept { return defined_ && !storage_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::int64_t size(int dim) const { return shape_[dim]; }
  [[nodiscard]] std::int64_t numel() const noexcept { return shape_.numel(); }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] std::size_t nbytes() const noexcept;
  [[nodiscard]] std::byte* raw() const noexcept;
  /// Whether another Tensor views the same storage.
  [[nodiscard]] bool shares_storage() const noexcept { return storage_.use_count() > 1; }

  /// Typed pointer; throws ArgumentError when T is not this tensor's dtype.
  template <class T>
  [[nodiscard]] T* data() const {
    require_dtype(dtype_of<T>);
    return reinterpret_cast<T*>(raw());
  }
  template <class T>
  [[nodiscard]] std::span<T> span() const {
    return {data<T>(), static_cast<std::size_t>(numel())};
  }

  /// The same elements under another shape of equal numel.
  [[nodiscard]] Tensor reshape(Shape shape) const;
  /// Elements [begin, begin+count) as a 1-D tensor sharing the storage.
  [[nodiscard]] Tensor slice(std::int64_t begin, std::int64_t count) const;
  /// A deep copy.
  [[nodiscard]] Tensor clone() const;
  void fill_zero() const;

 private:
  void require_dtype(DType wanted) const;

  std::shared_ptr<Storage> storage_;
  std::size_t byte_offset_ = 0;
  Shape shape_;
  DType dtype_ = DType::f32;
  bool defined_ = false;
};

/// Converts element by element (round to nearest even); same numel, any two floating dtypes, or
/// equal dtypes (a copy). Throws ArgumentError otherwise.
void convert(const Tensor& from, const Tensor& to);
[[nodiscard]] Tensor to_dtype(const Tensor& from, DType dtype);

}  // namespace sherd
