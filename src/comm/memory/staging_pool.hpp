#pragma once

#include <cstddef>
#include <map>
#include <memory>

namespace sherd::comm {

/// Recycles staging memory: a block that is dropped is handed out again, so that only the first
/// operations pay for fresh pages. Not thread-safe; blocks may outlive the pool.
class StagingPool {
 public:
  StagingPool() : free_(std::make_shared<FreeBlocks>()) {}

  /// Uninitialised memory of at least `bytes` bytes, given back when the last pointer is dropped.
  [[nodiscard]] std::shared_ptr<std::byte> take(std::size_t bytes);

 private:
  using FreeBlocks = std::multimap<std::size_t, std::unique_ptr<std::byte[]>>;  // by size
  std::shared_ptr<FreeBlocks> free_;
};

}  // namespace sherd::comm
