#include "tensor/memory_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace sherd {
namespace {

/// Under AddressSanitizer pooled blocks, and what a block has beyond the bytes asked for, are out
/// of bounds; elsewhere these do nothing.
void forbid([[maybe_unused]] const std::byte* from, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(from, bytes);
#endif
}
void permit([[maybe_unused]] const std::byte* from, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(from, bytes);
#endif
}

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::byte* system_block(std::size_t size) noexcept {
  const bool large = size >= kHugePage;
  void* block = std::aligned_alloc(large ? kHugePage : kAlignment, size);
  if (block != nullptr && large) {
    // Advice only: without transparent huge pages the block is merely slower to touch first.
    static_cast<void>(::madvise(block, size, MADV_HUGEPAGE));
  }
  return static_cast<std::byte*>(block);
}

}  // namespace

MemoryPool& MemoryPool::instance() {
  static MemoryPool& pool = *new MemoryPool;
  return pool;
}

std::size_t MemoryPool::class_bytes(std::size_t bytes) noexcept {
  const std::size_t wanted = std::max<std::size_t>(bytes, 1);
  const std::size_t power = std::bit_floor(wanted);
  const std::size_t unit = std::max(power / 8, wanted > kHugePage ? kHugePage : kAlignment);
  return (wanted + unit - 1) / unit * unit;
}

std::size_t MemoryPool::class_index(std::size_t class_bytes) noexcept {
  const std::size_t log2 = static_cast<std::size_t>(std::bit_width(class_bytes)) - 1;
  const std::size_t eighth = log2 < 3 ? 0 : (class_bytes >> (log2 - 3)) & 7;
  return log2 * 8 + eighth;
}

std::byte* MemoryPool::take_pooled(std::size_t size) noexcept {
  std::vector<std::byte*>& blocks = free_[class_index(size)];
  if (blocks.empty()) {
    return nullptr;
  }
  std::byte* block = blocks.back();
  blocks.pop_back();
  stats_.pooled_bytes -= size;
  return block;
}

std::byte* MemoryPool::take(std::size_t bytes) {
  const std::size_t size = class_bytes(bytes);
  const std::lock_guard lock(mutex_);
  std::byte* block = take_pooled(size);
  if (block == nullptr) {
    free_[class_index(size)].reserve(free_[class_index(size)].capacity() + 1);
    block = system_block(size);
    if (block == nullptr) {
      release_locked();
      block = system_block(size);
    }
    if (block == nullptr) {
      throw std::bad_alloc();
    }
    stats_.system_bytes += size;
    ++stats_.system_requests;
  }
  stats_.live_bytes += bytes;
  ++stats_.live_blocks;
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
  permit(block, bytes);
  forbid(block + bytes, size - bytes);
  return block;
}

void MemoryPool::give(std::byte* block, std::size_t bytes) noexcept {
  const std::size_t size = class_bytes(bytes);
  const std::lock_guard lock(mutex_);
  stats_.live_bytes -= bytes;
  --stats_.live_blocks;
  free_[class_index(size)].push_back(block);
  forbid(block, size);
  stats_.pooled_bytes += size;
}

MemoryStats MemoryPool::stats() const noexcept {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void MemoryPool::reset_peak() noexcept {
  const std::lock_guard lock(mutex_);
  stats_.peak_bytes = stats_.live_bytes;
}

std::size_t MemoryPool::release() noexcept {
  const std::lock_guard lock(mutex_);
  return release_locked();
}

std::size_t MemoryPool::release_locked() noexcept {
  for (std::vector<std::byte*>& blocks : free_) {
    for (std::byte* block : blocks) {
      std::free(block);
    }
    blocks.clear();
  }
  const std::size_t released = stats_.pooled_bytes;
  stats_.system_bytes -= released;
  stats_.pooled_bytes = 0;
  return released;
}

MemoryStats memory_stats() noexcept { return MemoryPool::instance().stats(); }
void reset_peak_bytes() noexcept { MemoryPool::instance().reset_peak(); }
std::size_t release_pooled_memory() noexcept { return MemoryPool::instance().release(); }

}  // namespace sherd
