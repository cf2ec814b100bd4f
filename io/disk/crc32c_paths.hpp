#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sherd::io {

/// One way of taking a CRC-32C, by the instructions it needs.
struct Crc32cPath {
  const char* name;
  /// Of `bytes` bytes from `from`, continued from `crc`; copied to `to` unless that is null.
  std::uint32_t (*take)(const std::byte* from, std::size_t bytes, std::byte* to,
                        std::uint32_t crc) noexcept;
};

/// Those this processor can go, the fastest at copying first, the table last.
[[nodiscard]] std::span<const Crc32cPath> crc32c_paths() noexcept;

#if defined(__x86_64__)
/// With the crc32 instruction, eight bytes each. Needs SSE4.2.
std::uint32_t crc32c_by_words(const std::byte* from, std::size_t bytes, std::byte* to,
                              std::uint32_t crc) noexcept;
/// By carry-less products of 16 bytes. Needs SSE4.2 and PCLMULQDQ.
std::uint32_t crc32c_by_products(const std::byte* from, std::size_t bytes, std::byte* to,
                                 std::uint32_t crc) noexcept;
/// By carry-less products of 64 bytes. Needs SSE4.2, AVX-512F and VPCLMULQDQ.
std::uint32_t crc32c_by_wide_products(const std::byte* from, std::size_t bytes, std::byte* to,
                                      std::uint32_t crc) noexcept;
#endif

}  // namespace sherd::io
