#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sherd::io {

/// CRC-32C (Castagnoli) of `bytes`, continued from `crc` (0 starts anew). By the widest
/// instructions the processor has (crc32c_paths.hpp); the same number by any of them.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes,
                                   std::uint32_t crc = 0) noexcept;

/// The same of what it copies to `to`, which must not overlap `from`: the digest is taken of the
/// bytes that are stored, in one pass. Long runs go past the caches, for a disk to fetch; what is
/// there is visible to other threads and devices once this has returned.
[[nodiscard]] std::uint32_t copy_crc32c(std::span<const std::byte> from, std::byte* to,
                                        std::uint32_t crc = 0) noexcept;

/// The same as crc32c() from a table, on any processor.
[[nodiscard]] std::uint32_t crc32c_portable(std::span<const std::byte> bytes,
                                            std::uint32_t crc = 0) noexcept;

/// CRC of the concatenation A + B from the CRCs of A and of B and the length of B in bytes.
[[nodiscard]] std::uint32_t crc32c_combine(std::uint32_t crc_a, std::uint32_t crc_b,
                                           std::uint64_t bytes_b) noexcept;

}  // namespace sherd::io
