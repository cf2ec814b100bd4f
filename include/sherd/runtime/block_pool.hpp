#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <vector>

#include "sherd/runtime/memory.hpp"

namespace sherd::runtime {

/// Where a BlockPool's blocks come from.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  /// A block of `size` bytes, null when there is none.
  [[nodiscard]] virtual std::byte* obtain(std::size_t size) noexcept = 0;
  virtual void give_back(std::byte* block, std::size_t size) noexcept = 0;
  /// The first `bytes` of the block's `size` are handed out. This and pooled() may be called by
  /// several threads at once, for different blocks.
  virtual void taken(std::byte* block, std::size_t bytes, std::size_t size) noexcept;
  /// The block goes into the pool: its holder is done with it, queued work may not be.
  virtual void pooled(std::byte* block, std::size_t size) noexcept;
};

/// Recycles blocks by size class: eight classes for each power of two. A block that is given is
/// handed out again to the next request of its class. Thread-safe.
class BlockPool {
 public:
  /// `source` must outlive the pool. Blocks of more than `coarse` bytes have sizes of whole
  /// `coarse` units, smaller ones of whole 64 bytes.
  BlockPool(BlockSource& source, std::size_t coarse) : source_(source), coarse_(coarse) {}
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// Null when the source has no more, also after it got the pooled blocks back.
  [[nodiscard]] std::byte* take(std::size_t bytes);
  /// `bytes` as passed to take().
  void give(std::byte* block, std::size_t bytes) noexcept;

  [[nodiscard]] PoolStats stats() const noexcept;
  void reset_peak() noexcept;
  /// Gives every pooled block back to the source. Returns how many bytes that were.
  std::size_t release() noexcept;

  /// The bytes a block for `bytes` really has.
  [[nodiscard]] std::size_t class_bytes(std::size_t bytes) const noexcept;

 private:
  static constexpr std::size_t kClasses = 8 * 64;
  static constexpr std::size_t kAlignment = 64;
  [[nodiscard]] static std::size_t class_index(std::size_t class_bytes) noexcept;
  [[nodiscard]] std::byte* take_block(std::size_t bytes, std::size_t size);
  [[nodiscard]] std::byte* take_pooled(std::size_t size) noexcept;
  std::size_t release_locked() noexcept;

  BlockSource& source_;
  std::size_t coarse_;
  mutable std::mutex mutex_;
  std::array<std::vector<std::byte*>, kClasses> free_;
  PoolStats stats_;
};

}  // namespace sherd::runtime
