#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "sherd/base/half.hpp"
#include "tensor/kernel/inline.hpp"

namespace sherd::kernel {

/// What a kernel computes in: f64 for f64, f32 for everything else.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// static_cast<float>(value), written without branches, for vectorised loops.
SHERD_KERNEL_INLINE float widen_f16(Float16 value) noexcept {
  const auto magnitude = static_cast<std::int32_t>(value.bits & 0x7FFFU);
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
  const std::uint32_t normal = (static_cast<std::uint32_t>(magnitude) << 13) + 0x38000000U;
  // Read with the smallest normal exponent a subnormal is too large by 2^-14.
  const float above = std::bit_cast<float>(normal + 0x00800000U) - 0x1p-14F;
  const std::uint32_t finite = magnitude < 0x400 ? std::bit_cast<std::uint32_t>(above) : normal;
  const std::uint32_t image = magnitude < 0x7C00 ? finite : normal + 0x38000000U;
  return std::bit_cast<float>(image | sign);
}

template <class T>
SHERD_KERNEL_INLINE Compute<T> load(T value) noexcept {
  if constexpr (std::is_same_v<T, Float16>) {
    return widen_f16(value);
  } else {
    return static_cast<Compute<T>>(value);
  }
}

/// f64 to f32 with inexact results made odd, so that rounding the result again, to 16 bits, gives
/// what rounding once would have given.
SHERD_KERNEL_INLINE float narrow_to_odd(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  const auto image = std::bit_cast<std::uint32_t>(nearest);
  const auto back = static_cast<double>(nearest);
  if (!(back < value || back > value) || (image & 1U) != 0) {
    return nearest;
  }
  const bool too_far = std::fabs(back) > std::fabs(value);
  return std::bit_cast<float>(too_far ? image - 1U : image + 1U);
}

/// BFloat16(value), written so that vectorised loops narrow only once, at the end.
SHERD_KERNEL_INLINE BFloat16 narrow_to_bf16(float value) noexcept {
  const auto image = std::bit_cast<std::uint32_t>(value);
  const auto magnitude = static_cast<std::int32_t>(image & 0x7FFFFFFFU);
  const std::uint32_t nan = magnitude > 0x7F800000 ? 0xFFFFFFFFU : 0U;
  const std::uint32_t up = (0x7FFFU + ((image >> 16) & 1U)) & ~nan;
  BFloat16 result;
  result.bits = static_cast<std::uint16_t>(((image + up) | (nan & 0x00400000U)) >> 16);
  return result;
}

/// Float16(value) in the same way.
SHERD_KERNEL_INLINE Float16 narrow_to_f16(float value) noexcept {
  const auto image = std::bit_cast<std::uint32_t>(value);
  const auto magnitude = static_cast<std::int32_t>(image & 0x7FFFFFFFU);
  const auto bounded = static_cast<std::uint32_t>(magnitude < 0x47800000 ? magnitude : 0x47800000);
  const std::uint32_t shifted = bounded - 0x38000000U;
  const std::uint32_t normal = (shifted + 0x0FFFU + ((shifted >> 13) & 1U)) >> 13;
  // Beside 0.5 an f32 has the steps of an f16 subnormal: the sum is rounded where it should be.
  const float aligned = std::bit_cast<float>(bounded) + 0.5F;
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(aligned) - 0x3F000000U;
  const std::uint32_t finite = magnitude < 0x38800000 ? subnormal : normal;
  const std::uint32_t nan = 0x7E00U | ((image >> 13) & 0x01FFU);
  const std::uint32_t rounded = magnitude > 0x7F800000 ? nan : finite;
  Float16 result;
  result.bits = static_cast<std::uint16_t>(rounded | ((image >> 16) & 0x8000U));
  return result;
}

/// Rounds to nearest even.
template <class T, class A>
SHERD_KERNEL_INLINE T store(A value) noexcept {
  if constexpr (std::is_same_v<T, BFloat16> && std::is_same_v<A, float>) {
    return narrow_to_bf16(value);
  } else if constexpr (std::is_same_v<T, Float16> && std::is_same_v<A, float>) {
    return narrow_to_f16(value);
  } else if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
    if constexpr (std::is_same_v<A, double>) {
      return store<T>(narrow_to_odd(value));
    } else {
      return store<T>(static_cast<float>(value));
    }
  } else {
    return static_cast<T>(value);
  }
}

/// e^x to 2 units in the last place for |x| <= 87; beyond that the value at +-87 (no infinities, no
/// subnormals); NaN stays NaN. Branch-free, for vectorised loops. The argument is bounded through
/// its integer image: a floating-point bound lets GCC evaluate callers' divisions for the bound's
/// own value, which is subnormal arithmetic and costs several times the whole loop.
SHERD_KERNEL_INLINE float exp_bounded(float x) noexcept {
  constexpr std::int32_t kBound = 0x42AE0000;  // 87.0f
  constexpr std::int32_t kInfinity = 0x7F800000;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const auto image = std::bit_cast<std::int32_t>(x);
  const std::int32_t magnitude = image & 0x7FFFFFFF;
  const std::int32_t least = magnitude < kBound ? magnitude : kBound;
  const std::int32_t bounded = magnitude > kInfinity ? magnitude : least;
  const auto a = std::bit_cast<float>(bounded | (image & static_cast<std::int32_t>(0x80000000U)));
  const float shifted = a * 1.44269504088896341F + kRound;
  const float n = shifted - kRound;
  const float high = a - n * 0.693359375F;
  const float r = high + n * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  const std::int32_t exponent = std::bit_cast<std::int32_t>(shifted) << 23;
  return std::bit_cast<float>(
             static_cast<std::int32_t>(static_cast<std::uint32_t>(exponent) + 0x3F800000U)) *
         p;
}

SHERD_KERNEL_INLINE double exp_bounded(double x) noexcept { return std::exp(x); }

}  // namespace sherd::kernel
