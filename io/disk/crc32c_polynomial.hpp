#pragma once

#include <cstddef>
#include <cstdint>

namespace sherd::io {

inline constexpr std::uint32_t kCrc32cPolynomial = 0x82F63B78U;  // 0x1EDC6F41, bits reversed

/// a * b modulo the polynomial, bits reversed: bit 31 is x^0.
[[nodiscard]] constexpr std::uint32_t multiply_mod_crc32c(std::uint32_t a,
                                                          std::uint32_t b) noexcept {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 0x80000000U; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) {
      product ^= b;
    }
    b = (b >> 1) ^ ((b & 1U) != 0 ? kCrc32cPolynomial : 0U);
  }
  return product;
}

/// x^n modulo the polynomial, bits reversed.
[[nodiscard]] constexpr std::uint32_t power_mod_crc32c(std::uint64_t n) noexcept {
  std::uint32_t power = 0x80000000U;   // x^0
  std::uint32_t square = 0x40000000U;  // x^1
  for (; n != 0; n >>= 1) {
    if ((n & 1U) != 0) {
      power = multiply_mod_crc32c(power, square);
    }
    square = multiply_mod_crc32c(square, square);
  }
  return power;
}

}  // namespace sherd::io
