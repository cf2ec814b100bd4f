#pragma once

#include <cstddef>

namespace sherd::comm {

/// Results of this size on are written past the caches: they would not stay there, and a plain
/// store reads the line first that it is about to overwrite.
inline constexpr std::size_t kStreamBytes = std::size_t{8} << 20;

/// memcpy by the rank's team with stores that go past the caches, for destinations nobody reads
/// soon. Ranges must not overlap. The stores are complete, for other cores too, when it returns.
void stream_copy(void* to, const void* from, std::size_t bytes) noexcept;

}  // namespace sherd::comm
