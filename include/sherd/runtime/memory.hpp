#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sherd::runtime {

/// Where bytes are: memory of this process, memory of this process that a device reads and writes
/// by itself (page-locked), memory of a device.
enum class MemoryKind : std::uint8_t { host, pinned, device };

/// "host", "pinned", "device".
[[nodiscard]] constexpr std::string_view to_string(MemoryKind kind) noexcept {
  return kind == MemoryKind::host ? "host" : (kind == MemoryKind::pinned ? "pinned" : "device");
}

/// What a recycling pool holds.
struct PoolStats {
  std::size_t live_bytes = 0;    ///< asked for by those who hold blocks
  std::size_t live_blocks = 0;   ///< how many of them
  std::size_t peak_bytes = 0;    ///< highest live_bytes since the last reset
  std::size_t pooled_bytes = 0;  ///< blocks waiting to be handed out again, by their size class
  std::size_t system_bytes = 0;  ///< taken from the system: live blocks by size class, and pooled
  std::int64_t system_requests = 0;  ///< how often the system was asked; constant in a steady state
};

}  // namespace sherd::runtime
