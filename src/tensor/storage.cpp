#include <utility>

#include "sherd/base/error.hpp"
#include "sherd/runtime/device.hpp"
#include "sherd/tensor/tensor.hpp"
#include "tensor/memory_pool.hpp"

namespace sherd {
namespace {

std::shared_ptr<runtime::Device> device_for(MemoryKind where) {
  if (where == MemoryKind::host) {
    return nullptr;
  }
  runtime::Device* device = runtime::current_device();
  if (device == nullptr) {
    throw ArgumentError(std::string(to_string(where)) +
                        " memory in a thread without a device. Try: a runtime::DeviceScope");
  }
  return device->shared_from_this();
}

}  // namespace

Storage::Storage(std::size_t bytes, MemoryKind where)
    : bytes_(bytes), where_(where), device_(device_for(where)) {}

Storage::~Storage() {
  if (!pooled_) {
    return;
  }
  if (device_) {
    device_->release(where_, data_, bytes_);
  } else {
    host_pool().give(data_, bytes_);
  }
}

std::shared_ptr<Storage> Storage::allocate(std::size_t bytes, MemoryKind where) {
  std::shared_ptr<Storage> storage(new Storage(bytes, where));
  storage->data_ =
      storage->device_ ? storage->device_->allocate(where, bytes) : take_host_block(bytes);
  storage->pooled_ = true;
  return storage;
}

std::shared_ptr<Storage> Storage::borrow(std::byte* data, std::size_t bytes,
                                         std::shared_ptr<void> keep_alive, MemoryKind where) {
  std::shared_ptr<Storage> storage(new Storage(bytes, where));
  storage->data_ = data;
  storage->keep_alive_ = std::move(keep_alive);
  return storage;
}

}  // namespace sherd
