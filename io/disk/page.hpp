#pragma once

#include <cstddef>
#include <cstdint>

namespace sherd::io {

/// What direct I/O wants offsets, lengths and addresses to be multiples of.
inline constexpr std::uint64_t kPage = 4096;

[[nodiscard]] constexpr std::uint64_t round_up_to_page(std::uint64_t bytes) noexcept {
  return (bytes + kPage - 1) / kPage * kPage;
}

[[nodiscard]] inline bool on_page(const std::byte* data, std::uint64_t offset) noexcept {
  return (reinterpret_cast<std::uintptr_t>(data) | offset) % kPage == 0;
}

}  // namespace sherd::io
