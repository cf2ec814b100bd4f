#pragma once

#include <cstdint>
#include <string_view>

namespace sherd {

/// The value of FNV-1a before the first byte.
inline constexpr std::uint64_t kFnv1aStart = 0xCBF29CE484222325ULL;

/// `hash` with one more byte.
constexpr std::uint64_t fnv1a(std::uint64_t hash, unsigned char byte) noexcept {
  return (hash ^ byte) * 0x100000001B3ULL;
}

/// 64-bit FNV-1a of `text`, continued from `hash`. For comparing texts that several ranks hold, not
/// against anybody who wants two texts to collide.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = kFnv1aStart) noexcept {
  for (const char letter : text) {
    hash = fnv1a(hash, static_cast<unsigned char>(letter));
  }
  return hash;
}

}  // namespace sherd
