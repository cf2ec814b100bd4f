#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <vector>

#include "sherd/tensor/memory_stats.hpp"

namespace sherd {

/// Recycles host blocks by size class. Blocks are 64-byte aligned; those of 2 MiB and more are
/// 2 MiB aligned and marked for huge pages, because first touch of fresh 4 KiB pages is far slower
/// than the kernels that use them. Thread-safe.
class MemoryPool {
 public:
  /// The process's pool; never destroyed, so that storages may die after main().
  static MemoryPool& instance();

  /// Throws std::bad_alloc when the system has no more, also after giving the pooled blocks back.
  [[nodiscard]] std::byte* take(std::size_t bytes);
  /// `bytes` as passed to take().
  void give(std::byte* block, std::size_t bytes) noexcept;

  [[nodiscard]] MemoryStats stats() const noexcept;
  void reset_peak() noexcept;
  std::size_t release() noexcept;

  /// The bytes a block for `bytes` really has: eight classes for each power of two.
  [[nodiscard]] static std::size_t class_bytes(std::size_t bytes) noexcept;

 private:
  static constexpr std::size_t kClasses = 8 * 64;
  [[nodiscard]] static std::size_t class_index(std::size_t class_bytes) noexcept;
  [[nodiscard]] std::byte* take_pooled(std::size_t size) noexcept;
  std::size_t release_locked() noexcept;

  mutable std::mutex mutex_;
  std::array<std::vector<std::byte*>, kClasses> free_;
  MemoryStats stats_;
};

}  // namespace sherd
