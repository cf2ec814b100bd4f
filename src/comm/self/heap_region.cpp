#include "comm/self/heap_region.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "sherd/base/error.hpp"

namespace sherd::comm {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// An anonymous mapping, moved up to a huge page where the size is worth it.
class MappedBlock final : public SharedRegion {
 public:
  explicit MappedBlock(std::size_t bytes) : mapped_(std::max<std::size_t>(bytes, 1) + kHugePage) {
    base_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ == MAP_FAILED) {
      throw CommError(fmt::format("no memory for a shared block of {} bytes", bytes));
    }
    auto* first = static_cast<std::byte*>(base_);
    if (bytes >= kHugePage) {
      first += (kHugePage - reinterpret_cast<std::uintptr_t>(first) % kHugePage) % kHugePage;
      madvise(first, bytes, MADV_HUGEPAGE);
    }
    bytes_ = {first, bytes};
  }
  ~MappedBlock() override { munmap(base_, mapped_); }

  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return bytes_; }

 private:
  std::size_t mapped_;
  void* base_ = nullptr;
  std::span<std::byte> bytes_;
};

}  // namespace

std::shared_ptr<SharedRegion> make_heap_block(std::size_t bytes) {
  return std::make_shared<MappedBlock>(bytes);
}

HeapRegion::HeapRegion(std::shared_ptr<SharedRegion> block) : block_(std::move(block)) {}

}  // namespace sherd::comm
