#include "tensor/memory_pool.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "sherd/runtime/device.hpp"
#include "sherd/tensor/memory_stats.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace sherd {
namespace {

using runtime::MemoryKind;

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

class HostBlocks final : public runtime::BlockSource {
 public:
  std::byte* obtain(std::size_t size) noexcept override {
    const bool large = size >= kHugePage;
    void* block = std::aligned_alloc(large ? kHugePage : kAlignment, size);
    if (block != nullptr && large) {
      // Advice only: without transparent huge pages the block is merely slower to touch first.
      static_cast<void>(::madvise(block, size, MADV_HUGEPAGE));
    }
    return static_cast<std::byte*>(block);
  }
  void give_back(std::byte* block, std::size_t) noexcept override { std::free(block); }
  void taken(std::byte* block, std::size_t bytes, std::size_t size) noexcept override {
    permit(block, bytes);
    forbid(block + bytes, size - bytes);
  }
  void pooled(std::byte* block, std::size_t size) noexcept override { forbid(block, size); }
};

}  // namespace

runtime::BlockPool& host_pool() {
  static HostBlocks& blocks = *new HostBlocks;
  static runtime::BlockPool& pool = *new runtime::BlockPool(blocks, kHugePage);
  return pool;
}

std::byte* take_host_block(std::size_t bytes) {
  std::byte* block = host_pool().take(bytes);
  if (block == nullptr) {
    throw std::bad_alloc();
  }
  return block;
}

MemoryStats memory_stats(MemoryKind where) noexcept {
  if (where == MemoryKind::host) {
    return host_pool().stats();
  }
  const runtime::Device* device = runtime::current_device();
  return device != nullptr ? device->stats(where) : MemoryStats{};
}

void reset_peak_bytes(MemoryKind where) noexcept {
  if (where == MemoryKind::host) {
    host_pool().reset_peak();
  } else if (runtime::Device* device = runtime::current_device(); device != nullptr) {
    device->reset_peak(where);
  }
}

std::size_t release_pooled_memory(MemoryKind where) noexcept {
  if (where == MemoryKind::host) {
    return host_pool().release();
  }
  runtime::Device* device = runtime::current_device();
  return device != nullptr ? device->release_pooled(where) : 0;
}

}  // namespace sherd
