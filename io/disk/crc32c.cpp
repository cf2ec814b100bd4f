#include "io/disk/crc32c.hpp"

#include <array>
#include <cstring>

namespace sherd::io {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78U;  // 0x1EDC6F41 with its bits reversed

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1U) != 0 ? kPolynomial : 0U);
    }
    table[i] = crc;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

/// a * b modulo the polynomial, bits reversed: bit 31 is x^0.
constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 0x80000000U; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) {
      product ^= b;
    }
    b = (b >> 1) ^ ((b & 1U) != 0 ? kPolynomial : 0U);
  }
  return product;
}

#if defined(__x86_64__)
constexpr std::size_t kLaneBytes = 4096;

using ShiftTables = std::array<std::array<std::uint32_t, 256>, 4>;

/// By each byte of a CRC register: what it becomes when kLaneBytes of zeros follow.
constexpr ShiftTables make_lane_shift() {
  std::uint32_t power = 0x00800000U;  // x^8: one byte
  for (std::size_t bytes = 1; bytes < kLaneBytes; bytes *= 2) {
    power = multiply(power, power);
  }
  ShiftTables tables{};
  for (std::uint32_t place = 0; place < 4; ++place) {
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      tables[place][byte] = multiply(power, byte << (8 * place));
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

std::uint64_t word_at(const std::byte* at) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, at, 8);
  return word;
}

__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(std::span<const std::byte> bytes,
                                                             std::uint32_t crc) noexcept {
  std::uint64_t state = ~crc;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  // The instruction takes three cycles, but one may begin each cycle: three lanes at once.
  for (; left >= 3 * kLaneBytes; left -= 3 * kLaneBytes, at += 3 * kLaneBytes) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < kLaneBytes; i += 8) {
      state = __builtin_ia32_crc32di(state, word_at(at + i));
      second = __builtin_ia32_crc32di(second, word_at(at + kLaneBytes + i));
      third = __builtin_ia32_crc32di(third, word_at(at + 2 * kLaneBytes + i));
    }
    state = shift_by_lane(shift_by_lane(state) ^ second) ^ third;
  }
  for (; left >= 8; left -= 8, at += 8) {
    state = __builtin_ia32_crc32di(state, word_at(at));
  }
  auto tail = static_cast<std::uint32_t>(state);
  for (; left > 0; --left, ++at) {
    tail = __builtin_ia32_crc32qi(tail, static_cast<unsigned char>(*at));
  }
  return ~tail;
}
#endif

}  // namespace

std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t crc) noexcept {
  std::uint32_t state = ~crc;
  for (const std::byte byte : bytes) {
    state = kTable[(state ^ static_cast<std::uint32_t>(byte)) & 0xFFU] ^ (state >> 8);
  }
  return ~state;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc) noexcept {
#if defined(__x86_64__)
  static const bool fast = __builtin_cpu_supports("sse4.2") != 0;
  if (fast) {
    return crc32c_sse42(bytes, crc);
  }
#endif
  return crc32c_portable(bytes, crc);
}

std::uint32_t crc32c_combine(std::uint32_t crc_a, std::uint32_t crc_b,
                             std::uint64_t bytes_b) noexcept {
  std::uint32_t shift = 0x80000000U;   // x^0
  std::uint32_t square = 0x00800000U;  // x^8: one byte
  for (; bytes_b != 0; bytes_b >>= 1) {
    if ((bytes_b & 1U) != 0) {
      shift = multiply(shift, square);
    }
    square = multiply(square, square);
  }
  return multiply(shift, crc_a) ^ crc_b;
}

}  // namespace sherd::io
