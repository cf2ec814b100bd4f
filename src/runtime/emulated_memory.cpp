#include "runtime/emulated_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

#include "sherd/base/error.hpp"

namespace sherd::runtime {
namespace {

constexpr std::size_t kAlignment = 256;
/// Locking and unlocking costs by the page: with huge pages, where the system has them, little.
constexpr std::size_t kPage = std::size_t{2} << 20;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// With room for the range to start at a whole page.
void* reserve(std::size_t bytes, bool locked) {
  void* range = ::mmap(nullptr, bytes + kPage, locked ? PROT_NONE : PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    throw DeviceError(fmt::format("no {} bytes of addresses for an emulated device", bytes));
  }
  return range;
}

std::byte* whole_page(void* range) {
  return reinterpret_cast<std::byte*>(round_up(reinterpret_cast<std::uintptr_t>(range), kPage));
}

}  // namespace

EmulatedMemory::EmulatedMemory(std::size_t bytes, bool protect)
    : bytes_(round_up(bytes, kPage)),
      protected_(protect),
      range_(reserve(bytes_, protect)),
      base_(whole_page(range_)) {
  static_cast<void>(::madvise(base_, bytes_, MADV_HUGEPAGE));  // advice only
}

EmulatedMemory::~EmulatedMemory() { ::munmap(range_, bytes_ + kPage); }

std::byte* EmulatedMemory::obtain(std::size_t bytes) noexcept {
  const std::size_t wanted = round_up(std::max<std::size_t>(bytes, 1), kAlignment);
  const std::lock_guard lock(mutex_);
  std::size_t at = 0;
  for (const auto& [begin, end] : blocks_) {
    if (begin - at >= wanted) {
      break;
    }
    at = end;
  }
  if (bytes_ - at < wanted) {
    return nullptr;
  }
  try {
    blocks_.emplace(at, at + wanted);
  } catch (...) {  // host memory is out: so is the device's
    return nullptr;
  }
  used_ += wanted;
  if (at + wanted > touched_) {
    touched_ = at + wanted;
    if (unlocked_ > 0) {
      protect(PROT_READ | PROT_WRITE);
    }
  }
  return base_ + at;
}

void EmulatedMemory::give_back(std::byte* block) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(static_cast<std::size_t>(block - base_));
  used_ -= found->second - found->first;
  blocks_.erase(found);
}

std::size_t EmulatedMemory::used() const noexcept {
  const std::lock_guard lock(mutex_);
  return used_;
}

void EmulatedMemory::unlock() noexcept {
  const std::lock_guard lock(mutex_);
  if (unlocked_++ == 0) {
    protect(PROT_READ | PROT_WRITE);
  }
}

void EmulatedMemory::lock() noexcept {
  const std::lock_guard lock(mutex_);
  if (--unlocked_ == 0) {
    protect(PROT_NONE);
  }
}

void EmulatedMemory::protect(int access) const noexcept {
  if (protected_ && touched_ > 0) {
    static_cast<void>(::mprotect(base_, round_up(touched_, kPage), access));
  }
}

}  // namespace sherd::runtime
