#pragma once

#include <bit>
#include <cstdint>

#include "sherd/base/dtype.hpp"

namespace sherd {

/// bfloat16 storage: the upper half of an IEEE f32. Conversion from float rounds to nearest even;
/// NaN stays NaN (quieted).
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  constexpr explicit BFloat16(float value) noexcept {
    const auto u = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = u + 0x7FFFU + ((u >> 16) & 1U);
    const std::uint32_t nan = u | 0x00400000U;
    bits = static_cast<std::uint16_t>(((u & 0x7FFFFFFFU) > 0x7F800000U ? nan : rounded) >> 16);
  }
  constexpr explicit operator float() const noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

/// IEEE binary16 storage. Conversion from float rounds to nearest even, with subnormals,
/// overflow to infinity and quiet NaN.
struct Float16 {
  std::uint16_t bits = 0;

  Float16() = default;
  constexpr explicit Float16(float value) noexcept : bits(from_float(value)) {}
  constexpr explicit operator float() const noexcept { return to_float(bits); }

  static constexpr std::uint16_t from_float(float value) noexcept {
    const auto u = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (u >> 16) & 0x8000U;
    const std::uint32_t magnitude = u & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) {
      return static_cast<std::uint16_t>(sign | 0x7E00U | ((magnitude >> 13) & 0x01FFU));
    }
    if (magnitude >= 0x47800000U) {  // 65536 and above, and infinity
      return static_cast<std::uint16_t>(sign | 0x7C00U);
    }
    if (magnitude >= 0x38800000U) {  // normal in f16; a carry may reach infinity, as it should
      const std::uint32_t shifted = magnitude - 0x38000000U;
      return static_cast<std::uint16_t>(sign |
                                        ((shifted + 0x0FFFU + ((shifted >> 13) & 1U)) >> 13));
    }
    if (magnitude < 0x33000000U) {  // below half of the smallest subnormal
      return static_cast<std::uint16_t>(sign);
    }
    const std::uint32_t exponent = magnitude >> 23;
    const std::uint32_t mantissa = (magnitude & 0x007FFFFFU) | 0x00800000U;
    const std::uint32_t shift = 126U - exponent;
    const std::uint32_t kept = mantissa >> shift;
    const std::uint32_t rest = mantissa & ((1U << shift) - 1U);
    const std::uint32_t half = 1U << (shift - 1U);
    const std::uint32_t up = (rest > half || (rest == half && (kept & 1U) != 0)) ? 1U : 0U;
    return static_cast<std::uint16_t>(sign | (kept + up));
  }

  static constexpr float to_float(std::uint16_t bits) noexcept {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1FU;
    const std::uint32_t mantissa = bits & 0x3FFU;
    if (exponent == 0x1FU) {
      return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13));
    }
    if (exponent != 0) {
      return std::bit_cast<float>(sign | ((exponent + 112U) << 23) | (mantissa << 13));
    }
    const float value = static_cast<float>(mantissa) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
  }
};

static_assert(sizeof(BFloat16) == 2 && sizeof(Float16) == 2);

/// DType of a C++ element type: dtype_of<float> is DType::f32.
template <class T>
inline constexpr DType dtype_of = DType::u8;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<Float16> = DType::f16;
template <>
inline constexpr DType dtype_of<BFloat16> = DType::bf16;
template <>
inline constexpr DType dtype_of<std::int64_t> = DType::i64;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<std::uint16_t> = DType::u16;
template <>
inline constexpr DType dtype_of<std::uint8_t> = DType::u8;

}  // namespace sherd
