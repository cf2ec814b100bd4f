#pragma once

#include <cstddef>
#include <cstdint>

namespace sherd {

/// What the pool behind Storage::allocate holds. Borrowed memory is not in it.
struct MemoryStats {
  std::size_t live_bytes = 0;    ///< asked for by storages that are alive
  std::size_t live_blocks = 0;   ///< how many of them
  std::size_t peak_bytes = 0;    ///< highest live_bytes since the last reset_peak_bytes()
  std::size_t pooled_bytes = 0;  ///< blocks waiting to be handed out again, by their size class
  std::size_t system_bytes = 0;  ///< taken from the system: live blocks by size class, and pooled
  std::int64_t system_requests = 0;  ///< how often the system was asked; constant in a steady state
};

/// Local, thread-safe.
[[nodiscard]] MemoryStats memory_stats() noexcept;
/// Sets peak_bytes to what is live now.
void reset_peak_bytes() noexcept;
/// Gives every pooled block back to the system. Returns how many bytes that were.
std::size_t release_pooled_memory() noexcept;

}  // namespace sherd
