#pragma once

#include <cstddef>
#include <memory>

#include "sherd/comm/shared_region.hpp"

namespace sherd::comm {

/// A zero-filled block from the kernel, shared by whoever holds the pointer. Throws CommError when
/// there is no memory.
[[nodiscard]] std::shared_ptr<SharedRegion> make_heap_block(std::size_t bytes);

/// One rank's share of a block.
class HeapRegion final : public SharedRegion {
 public:
  explicit HeapRegion(std::shared_ptr<SharedRegion> block);
  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return block_->bytes(); }

 private:
  std::shared_ptr<SharedRegion> block_;
};

}  // namespace sherd::comm
