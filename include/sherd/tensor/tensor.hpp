#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "sherd/base/dtype.hpp"
#include "sherd/base/half.hpp"
#include "sherd/runtime/memory.hpp"
#include "sherd/tensor/shape.hpp"

namespace sherd {
namespace runtime {
class Device;
}
using runtime::MemoryKind;

/// Memory, 64-byte aligned, taken from a recycling pool: a buffer that is dropped is handed out
/// again to the next request of its size class, so a training step in its steady state maps no new
/// pages. Large blocks on the host are 2 MiB aligned and marked for huge pages. Pinned and device
/// memory is that of the thread's runtime::current_device(), and follows the stream-ordered rule
/// that runtime::Device states. Thread-safe.
class Storage {
 public:
  /// Throws ArgumentError for pinned or device memory when the thread has no device.
  static std::shared_ptr<Storage> allocate(std::size_t bytes, MemoryKind where = MemoryKind::host);
  /// Memory somebody else owns; `keep_alive` is held as long as the storage (may be null).
  static std::shared_ptr<Storage> borrow(std::byte* data, std::size_t bytes,
                                         std::shared_ptr<void> keep_alive = nullptr,
                                         MemoryKind where = MemoryKind::host);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  [[nodiscard]] MemoryKind where() const noexcept { return where_; }
  /// Null for host memory.
  [[nodiscard]] runtime::Device* device() const noexcept { return device_.get(); }

 private:
  Storage(std::size_t bytes, MemoryKind where);

  std::byte* data_ = nullptr;
  std::size_t bytes_;
  MemoryKind where_;
  bool pooled_ = false;
  std::shared_ptr<runtime::Device> device_;
  std::shared_ptr<void> keep_alive_;
};

/// A dense row-major array. Copying a Tensor shares its storage. A default-made Tensor is empty
/// (defined() is false); a *meta* tensor has shape and dtype but no storage.
class Tensor {
 public:
  Tensor() = default;
  /// Uninitialised memory from the pool.
  static Tensor empty(Shape shape, DType dtype, MemoryKind where = MemoryKind::host);
  static Tensor zeros(Shape shape, DType dtype, MemoryKind where = MemoryKind::host);
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
  /// Where the elements are; host for tensors without storage.
  [[nodiscard]] MemoryKind where() const noexcept {
    return storage_ ? storage_->where() : MemoryKind::host;
  }
  [[nodiscard]] bool is_on_device() const noexcept { return where() == MemoryKind::device; }
  /// Whose memory it is; null for host memory.
  [[nodiscard]] runtime::Device* device() const noexcept {
    return storage_ ? storage_->device() : nullptr;
  }
  /// The address, which the host may not use when it is on a device.
  [[nodiscard]] std::byte* raw() const noexcept;
  /// Whether another Tensor views the same storage.
  [[nodiscard]] bool shares_storage() const noexcept { return storage_.use_count() > 1; }

  /// Typed address; throws ArgumentError when T is not this tensor's dtype. See raw().
  template <class T>
  [[nodiscard]] T* data() const {
    require_dtype(dtype_of<T>);
    return reinterpret_cast<T*>(raw());
  }
  /// The elements; throws ArgumentError when they are on a device.
  template <class T>
  [[nodiscard]] std::span<T> span() const {
    require_host();
    return {data<T>(), static_cast<std::size_t>(numel())};
  }

  /// The same elements under another shape of equal numel.
  [[nodiscard]] Tensor reshape(Shape shape) const;
  /// Elements [begin, begin+count) as a 1-D tensor sharing the storage.
  [[nodiscard]] Tensor slice(std::int64_t begin, std::int64_t count) const;
  /// A deep copy in the same kind of memory.
  [[nodiscard]] Tensor clone() const;
  void fill_zero() const;

 private:
  void require_dtype(DType wanted) const;
  void require_host() const;

  std::shared_ptr<Storage> storage_;
  std::size_t byte_offset_ = 0;
  Shape shape_;
  DType dtype_ = DType::f32;
  bool defined_ = false;
};

// Work on device tensors, here and in the kernels, is issued to the device's compute stream; what
// runs on the host alone is done when the call returns.

/// Copies the bytes, whatever the two are in; same numel and dtype, no overlap unless both are the
/// host's. Waits for the device only where device memory goes to host memory that is not pinned.
/// Between device and pinned memory the copy is done when the compute stream is past it.
void copy(const Tensor& from, const Tensor& to);
/// The tensor itself when it is there already, otherwise a copy; to_host() waits for it.
[[nodiscard]] Tensor to_device(const Tensor& from);
[[nodiscard]] Tensor to_host(const Tensor& from);

/// Converts element by element (round to nearest even); same numel, any two floating dtypes, or
/// equal dtypes (a copy). Throws ArgumentError otherwise, and when one is on a device and the other
/// is not while the dtypes differ.
void convert(const Tensor& from, const Tensor& to);
[[nodiscard]] Tensor to_dtype(const Tensor& from, DType dtype);

}  // namespace sherd
