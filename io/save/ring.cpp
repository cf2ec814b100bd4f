// Staging memory: taken in order, given back in any, reused from the oldest on.
#include "io/save/ring.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include "io/disk/page.hpp"
#include "sherd/base/error.hpp"

namespace sherd::io {

StagingRing::~StagingRing() { give_back(); }

void StagingRing::give_back() noexcept {
  touch_.end();
  if (pinned_ != nullptr) {
    device_->release(runtime::MemoryKind::pinned, pinned_, size_ + kPage);
  } else if (data_ != nullptr) {
    ::munmap(data_, size_);
  }
  data_ = pinned_ = nullptr;
  size_ = 0;
}

void StagingRing::reserve(std::uint64_t bytes, runtime::Device* device) {
  if (bytes <= size_ && device == device_.get()) {
    return;
  }
  give_back();
  device_ = device == nullptr ? nullptr : device->shared_from_this();
  const std::uint64_t rounded = round_up_to_page(bytes);
  if (device != nullptr) {
    pinned_ = device->allocate(runtime::MemoryKind::pinned, rounded + kPage);
    const auto address = reinterpret_cast<std::uintptr_t>(pinned_);
    data_ = pinned_ + (kPage - address % kPage) % kPage;
    size_ = rounded;
    return;
  }
  void* memory =
      ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw IoError(
        fmt::format("no memory for {} bytes of checkpoint staging. Try: a smaller "
                    "staging_bytes_per_node",
                    rounded));
  }
  ::madvise(memory, rounded,
            MADV_HUGEPAGE);  // fewer page faults at first, fewer pages to pin later
  data_ = static_cast<std::byte*>(memory);
  size_ = rounded;
}

/// Stretches lie in a circle: free is what follows the youngest up to the oldest.
bool StagingRing::place(std::uint64_t bytes, std::uint64_t& offset) const {
  if (used_.empty()) {
    offset = 0;
    return bytes <= size_;
  }
  const std::uint64_t tail = used_.front().offset;
  const std::uint64_t head = used_.back().offset + used_.back().bytes;
  if (used_.back().offset < tail) {  // gone round already
    offset = head;
    return bytes <= tail - head;
  }
  offset = bytes <= size_ - head ? head : 0;
  return offset != 0 || bytes <= tail;
}

std::byte* StagingRing::try_acquire(std::uint64_t bytes) {
  std::uint64_t offset = 0;
  if (!place(bytes, offset)) {
    return nullptr;
  }
  used_.push_back({offset, bytes, false});
  return data_ + offset;
}

void StagingRing::release(const std::byte* stretch) {
  const auto offset = static_cast<std::uint64_t>(stretch - data_);
  for (Stretch& each : used_) {
    each.free = each.free || each.offset == offset;
  }
  while (!used_.empty() && used_.front().free) {
    used_.pop_front();
  }
}

void StagingRing::touch_in_background() {
  if (data_ != nullptr && pinned_ == nullptr) {
    touch_.begin({data_, size_});
  }
}

void StagingRing::reset() noexcept {
  touch_.end();
  used_.clear();
}

}  // namespace sherd::io
