#include "sherd/base/half.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace sherd {
namespace {

/// A binary floating-point format of 16 bits, described by its parameters.
struct Format {
  int mantissa_bits;
  int min_exponent;  ///< of the smallest normal number, as in 2^e
  double largest;    ///< finite
};
constexpr Format kBFloat16{7, -126, 0x1.FEp127};
constexpr Format kFloat16{10, -14, 65504.0};

/// The value nearest to `value` in the format, ties to even, by exact arithmetic in double: slow
/// and written from the definition, sharing nothing with the code under test.
double nearest(double value, const Format& format) {
  if (value == 0.0 || !std::isfinite(value)) {
    return value;
  }
  const int exponent = std::max(std::ilogb(value), format.min_exponent);
  const double spacing = std::ldexp(1.0, exponent - format.mantissa_bits);
  const double steps = std::abs(value) / spacing;  // exact: a power of two
  double whole = std::floor(steps);
  const double rest = steps - whole;
  if (rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2.0) == 1.0)) {
    whole += 1.0;
  }
  const double rounded = whole * spacing;
  const double result =
      rounded > format.largest ? std::numeric_limits<double>::infinity() : rounded;
  return std::copysign(result, value);
}

template <class T>
void expect_round_trip() {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    T half;
    half.bits = static_cast<std::uint16_t>(bits);
    const auto value = static_cast<float>(half);
    const T back(value);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(static_cast<float>(back))) << bits;
      ASSERT_EQ(back.bits & 0x8000U, bits & 0x8000U) << "the sign of a NaN is kept";
    } else {
      ASSERT_EQ(back.bits, bits);
    }
  }
}

template <class T>
void expect_nearest(float value, const Format& format) {
  const auto result = static_cast<float>(T(value));
  if (std::isnan(value)) {
    ASSERT_TRUE(std::isnan(result));
    return;
  }
  const double expected = nearest(static_cast<double>(value), format);
  ASSERT_EQ(static_cast<double>(result), expected) << std::hexfloat << value;
  ASSERT_EQ(std::signbit(result), std::signbit(value)) << std::hexfloat << value;
}

/// Every value of the format, the exact middle between it and the next one, and the floats beside.
template <class T>
void expect_ties_to_even(const Format& format) {
  for (std::uint32_t bits = 0; bits < 65535; ++bits) {
    T low;
    T high;
    low.bits = static_cast<std::uint16_t>(bits);
    high.bits = static_cast<std::uint16_t>(bits + 1);
    const double a = static_cast<double>(static_cast<float>(low));
    const double b = static_cast<double>(static_cast<float>(high));
    if (!std::isfinite(a) || !std::isfinite(b)) {
      continue;
    }
    const auto middle = static_cast<float>((a + b) / 2);
    for (const float value :
         {middle, std::nextafter(middle, 1e30F), std::nextafter(middle, -1e30F)}) {
      expect_nearest<T>(value, format);
    }
  }
}

template <class T>
void expect_nearest_everywhere(const Format& format) {
  std::minstd_rand random(3);
  for (int i = 0; i < 400000; ++i) {
    const auto high = static_cast<std::uint32_t>(random()) & 0xFFFFU;
    const auto low = static_cast<std::uint32_t>(random()) & 0xFFFFU;
    expect_nearest<T>(std::bit_cast<float>(high << 16 | low), format);
  }
  using Limits = std::numeric_limits<float>;
  for (const float value :
       {0.0F, -0.0F, Limits::infinity(), -Limits::infinity(), Limits::max(), -Limits::max(),
        Limits::min(), Limits::denorm_min(), 65504.0F, 65519.0F, 65519.996F, 65520.0F, 65536.0F,
        -65520.0F, 0x1p-24F, 0x1p-25F, 0x1.000002p-25F, 0x1.FFFFFEp-26F, Limits::quiet_NaN()}) {
    expect_nearest<T>(value, format);
  }
}

TEST(BFloat16, SurvivesTheWayThroughFloat) { expect_round_trip<BFloat16>(); }
TEST(Float16, SurvivesTheWayThroughFloat) { expect_round_trip<Float16>(); }
TEST(BFloat16, RoundsTiesToEven) { expect_ties_to_even<BFloat16>(kBFloat16); }
TEST(Float16, RoundsTiesToEven) { expect_ties_to_even<Float16>(kFloat16); }
TEST(BFloat16, RoundsToNearest) { expect_nearest_everywhere<BFloat16>(kBFloat16); }
TEST(Float16, RoundsToNearest) { expect_nearest_everywhere<Float16>(kFloat16); }

TEST(BFloat16, ASignallingNanIsQuieted) {
  const BFloat16 half(std::bit_cast<float>(0x7F800001U));
  EXPECT_TRUE(std::isnan(static_cast<float>(half)));
  EXPECT_NE(half.bits & 0x0040U, 0U);
}

TEST(Half, ConvertsAtCompileTime) {
  static_assert(BFloat16(1.0F).bits == 0x3F80U);
  static_assert(Float16(1.0F).bits == 0x3C00U);
  static_assert(static_cast<float>(Float16(-2.5F)) == -2.5F);
}

}  // namespace
}  // namespace sherd
