#pragma once

#include <cstddef>

#include "sherd/runtime/memory.hpp"

namespace sherd {

/// What the pool behind Storage::allocate holds. Borrowed memory is not in it.
using MemoryStats = runtime::PoolStats;

/// Of the process's host memory, or of the pinned or device memory of the thread's current device
/// (all zero without one). Local, thread-safe, as are the next two.
[[nodiscard]] MemoryStats memory_stats(
    runtime::MemoryKind where = runtime::MemoryKind::host) noexcept;
/// Sets peak_bytes to what is live now.
void reset_peak_bytes(runtime::MemoryKind where = runtime::MemoryKind::host) noexcept;
/// Gives every pooled block back to the system. Returns how many bytes that were.
std::size_t release_pooled_memory(runtime::MemoryKind where = runtime::MemoryKind::host) noexcept;

}  // namespace sherd
