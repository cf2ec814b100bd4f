#include "sherd/runtime/block_pool.hpp"

#include <algorithm>
#include <bit>

namespace sherd::runtime {

void BlockSource::taken(std::byte*, std::size_t, std::size_t) noexcept {}
void BlockSource::pooled(std::byte*, std::size_t) noexcept {}

std::size_t BlockPool::class_bytes(std::size_t bytes) const noexcept {
  const std::size_t wanted = std::max<std::size_t>(bytes, 1);
  const std::size_t power = std::bit_floor(wanted);
  const std::size_t unit = std::max(power / 8, wanted > coarse_ ? coarse_ : kAlignment);
  return (wanted + unit - 1) / unit * unit;
}

std::size_t BlockPool::class_index(std::size_t class_bytes) noexcept {
  const std::size_t log2 = static_cast<std::size_t>(std::bit_width(class_bytes)) - 1;
  const std::size_t eighth = log2 < 3 ? 0 : (class_bytes >> (log2 - 3)) & 7;
  return log2 * 8 + eighth;
}

std::byte* BlockPool::take_pooled(std::size_t size) noexcept {
  std::vector<std::byte*>& blocks = free_[class_index(size)];
  if (blocks.empty()) {
    return nullptr;
  }
  std::byte* block = blocks.back();
  blocks.pop_back();
  stats_.pooled_bytes -= size;
  return block;
}

std::byte* BlockPool::take(std::size_t bytes) {
  const std::size_t size = class_bytes(bytes);
  std::byte* block = take_block(bytes, size);
  if (block != nullptr) {
    source_.taken(block, bytes, size);
  }
  return block;
}

std::byte* BlockPool::take_block(std::size_t bytes, std::size_t size) {
  const std::lock_guard lock(mutex_);
  std::byte* block = take_pooled(size);
  if (block == nullptr) {
    // give() must not fail for want of memory.
    free_[class_index(size)].reserve(free_[class_index(size)].capacity() + 1);
    block = source_.obtain(size);
    if (block == nullptr) {
      release_locked();
      block = source_.obtain(size);
    }
    if (block == nullptr) {
      return nullptr;
    }
    stats_.system_bytes += size;
    ++stats_.system_requests;
  }
  stats_.live_bytes += bytes;
  ++stats_.live_blocks;
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
  return block;
}

void BlockPool::give(std::byte* block, std::size_t bytes) noexcept {
  const std::size_t size = class_bytes(bytes);
  source_.pooled(block, size);  // before anybody else can take it
  const std::lock_guard lock(mutex_);
  stats_.live_bytes -= bytes;
  --stats_.live_blocks;
  free_[class_index(size)].push_back(block);
  stats_.pooled_bytes += size;
}

PoolStats BlockPool::stats() const noexcept {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void BlockPool::reset_peak() noexcept {
  const std::lock_guard lock(mutex_);
  stats_.peak_bytes = stats_.live_bytes;
}

std::size_t BlockPool::release() noexcept {
  const std::lock_guard lock(mutex_);
  return release_locked();
}

std::size_t BlockPool::release_locked() noexcept {
  // A block lies in the list of its class alone, so the list's place says its size.
  std::size_t released = 0;
  for (std::size_t index = 0; index < free_.size(); ++index) {
    const std::size_t base = std::size_t{1} << (index / 8);
    const std::size_t size = base + (index / 8 < 3 ? 0 : (base >> 3) * (index % 8));
    for (std::byte* block : free_[index]) {
      source_.give_back(block, size);
      released += size;
    }
    free_[index].clear();
  }
  stats_.system_bytes -= released;
  stats_.pooled_bytes = 0;
  return released;
}

}  // namespace sherd::runtime
