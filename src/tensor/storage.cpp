#include <utility>

#include "sherd/tensor/tensor.hpp"
#include "tensor/memory_pool.hpp"

namespace sherd {

Storage::Storage(std::byte* data, std::size_t bytes, bool pooled, std::shared_ptr<void> keep_alive)
    : data_(data), bytes_(bytes), pooled_(pooled), keep_alive_(std::move(keep_alive)) {}

Storage::~Storage() {
  if (pooled_) {
    MemoryPool::instance().give(data_, bytes_);
  }
}

std::shared_ptr<Storage> Storage::allocate(std::size_t bytes) {
  std::byte* block = MemoryPool::instance().take(bytes);
  try {
    return std::shared_ptr<Storage>(new Storage(block, bytes, true, nullptr));
  } catch (...) {
    MemoryPool::instance().give(block, bytes);
    throw;
  }
}

std::shared_ptr<Storage> Storage::borrow(std::byte* data, std::size_t bytes,
                                         std::shared_ptr<void> keep_alive) {
  return std::shared_ptr<Storage>(new Storage(data, bytes, false, std::move(keep_alive)));
}

}  // namespace sherd
