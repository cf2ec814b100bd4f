#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sherd::io {

/// CRC-32C (Castagnoli) of `bytes`, continued from `crc` (0 starts anew). Uses SSE4.2 where the
/// processor has it.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes,
                                   std::uint32_t crc = 0) noexcept;

/// The same from a table, on any processor.
[[nodiscard]] std::uint32_t crc32c_portable(std::span<const std::byte> bytes,
                                            std::uint32_t crc = 0) noexcept;

/// CRC of the concatenation A + B from the CRCs of A and of B and the length of B in bytes.
[[nodiscard]] std::uint32_t crc32c_combine(std::uint32_t crc_a, std::uint32_t crc_b,
                                           std::uint64_t bytes_b) noexcept;

}  // namespace sherd::io
