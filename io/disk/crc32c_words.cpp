// CRC-32C by the processor's own instruction, three lanes at once.
#include <algorithm>
#include <array>
#include <cstring>

#include "io/disk/crc32c_paths.hpp"
#include "io/disk/crc32c_polynomial.hpp"

#if defined(__x86_64__)
namespace sherd::io {
namespace {

constexpr std::size_t kLaneBytes = 4096;
/// Copied at a time, so that the digest reads it from the nearest cache: a multiple of all lanes.
constexpr std::size_t kCopiedBytes = 3 * kLaneBytes;

using ShiftTables = std::array<std::array<std::uint32_t, 256>, 4>;

/// By each byte of a CRC register: what it becomes when kLaneBytes of zeros follow.
constexpr ShiftTables make_lane_shift() {
  constexpr std::uint32_t kPower = power_mod_crc32c(8 * kLaneBytes);
  ShiftTables tables{};
  for (std::uint32_t place = 0; place < 4; ++place) {
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      tables[place][byte] = multiply_mod_crc32c(kPower, byte << (8 * place));
    }
  }
  return tables;
}

constexpr ShiftTables kLaneShift = make_lane_shift();

std::uint32_t shift_by_lane(std::uint64_t state) noexcept {
  const auto crc = static_cast<std::uint32_t>(state);
  return kLaneShift[0][crc & 0xFFU] ^ kLaneShift[1][(crc >> 8) & 0xFFU] ^
         kLaneShift[2][(crc >> 16) & 0xFFU] ^ kLaneShift[3][crc >> 24];
}

std::uint64_t crc_word_at(const std::byte* at) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, at, 8);
  return word;
}

/// Of the register itself, which begins and ends without being inverted.
__attribute__((target("sse4.2"))) std::uint32_t register_after(const std::byte* at,
                                                               std::size_t left,
                                                               std::uint64_t state) noexcept {
  // The instruction takes three cycles, but one may begin each cycle: three lanes at once.
  for (; left >= 3 * kLaneBytes; left -= 3 * kLaneBytes, at += 3 * kLaneBytes) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < kLaneBytes; i += 8) {
      state = __builtin_ia32_crc32di(state, crc_word_at(at + i));
      second = __builtin_ia32_crc32di(second, crc_word_at(at + kLaneBytes + i));
      third = __builtin_ia32_crc32di(third, crc_word_at(at + 2 * kLaneBytes + i));
    }
    state = shift_by_lane(shift_by_lane(state) ^ second) ^ third;
  }
  for (; left >= 8; left -= 8, at += 8) {
    state = __builtin_ia32_crc32di(state, crc_word_at(at));
  }
  auto tail = static_cast<std::uint32_t>(state);
  for (; left > 0; --left, ++at) {
    tail = __builtin_ia32_crc32qi(tail, static_cast<unsigned char>(*at));
  }
  return tail;
}

}  // namespace

std::uint32_t crc32c_by_words(const std::byte* from, std::size_t bytes, std::byte* to,
                              std::uint32_t crc) noexcept {
  if (to == nullptr) {
    return ~register_after(from, bytes, ~crc);
  }
  std::uint32_t state = ~crc;
  for (std::size_t at = 0; at < bytes; at += kCopiedBytes) {
    const std::size_t count = std::min(kCopiedBytes, bytes - at);
    std::memcpy(to + at, from + at, count);
    state = register_after(to + at, count, state);
  }
  return ~state;
}

}  // namespace sherd::io
#endif
