#pragma once

#include <cstdint>
#include <memory>

#include "sherd/tensor/tensor.hpp"

namespace sherd::kernel {

/// `count` uninitialised elements of pooled memory, 64-byte aligned, given back when this dies: on
/// a device that is before the work that uses them has run, and in order (see runtime::Device).
template <class T>
class Scratch {
 public:
  explicit Scratch(std::int64_t count, MemoryKind where = MemoryKind::host)
      : storage_(Storage::allocate(static_cast<std::size_t>(count) * sizeof(T), where)) {}
  Scratch(std::int64_t count, const runtime::Device* device)
      : Scratch(count, device != nullptr ? MemoryKind::device : MemoryKind::host) {}
  [[nodiscard]] T* data() const { return reinterpret_cast<T*>(storage_->data()); }

 private:
  std::shared_ptr<Storage> storage_;
};

}  // namespace sherd::kernel
