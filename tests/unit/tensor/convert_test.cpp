#include <gtest/gtest.h>

#include <bit>
#include <numeric>

#include "sherd/base/error.hpp"
#include "unit/tensor/values.hpp"

namespace sherd {
namespace {

using test::kInf;
using test::kNan;
using test::make;
using test::Values;
using test::values_of;

class ConvertTest : public testing::TestWithParam<kernel::Isa> {
 protected:
  void SetUp() override { kernel::limit_host_isa(GetParam()); }
  void TearDown() override { kernel::limit_host_isa(kernel::Isa::v4); }
};
INSTANTIATE_TEST_SUITE_P(Isas, ConvertTest,
                         testing::Values(kernel::Isa::baseline, kernel::Isa::v3, kernel::Isa::v4));

Values converted(const Values& values, DType from, DType to) {
  return values_of(
      to_dtype(make(Shape{static_cast<std::int64_t>(values.size())}, from, values), to));
}

TEST_P(ConvertTest, Bf16TiesGoToEven) {
  // 1 + 2^-8 lies between 1 and 1 + 2^-7; 1 + 3*2^-8 between 1 + 2^-7 and 1 + 2^-6.
  const Values halves = {1 + 0x1p-8, 1 + 3 * 0x1p-8, -(1 + 0x1p-8), 1 + 0x1p-8 + 0x1p-20};
  EXPECT_EQ(converted(halves, DType::f32, DType::bf16), (Values{1, 1 + 0x1p-6, -1, 1 + 0x1p-7}));
}

TEST_P(ConvertTest, F16TiesSubnormalsAndOverflow) {
  const Values from = {1 + 0x1p-11, 1 + 3 * 0x1p-11, 65519, 65520, 0x1p-24, 0x1p-25, 0x1.8p-25};
  EXPECT_EQ(converted(from, DType::f32, DType::f16),
            (Values{1, 1 + 0x1p-9, 65504, kInf, 0x1p-24, 0, 0x1p-24}));
}

TEST_P(ConvertTest, F64RoundsOnceToSixteenBits) {
  // Rounding to f32 first would give 1 + 2^-8 exactly, and then the tie would go down to 1.
  const Values from = {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8 - 0x1p-40, -(1 + 0x1p-8 + 0x1p-40)};
  EXPECT_EQ(converted(from, DType::f64, DType::bf16), (Values{1 + 0x1p-7, 1, -(1 + 0x1p-7)}));
  const Values fine = {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11};
  EXPECT_EQ(converted(fine, DType::f64, DType::f16), (Values{1 + 0x1p-10, 1}));
}

TEST_P(ConvertTest, NonFiniteValuesSurvive) {
  for (const DType from : {DType::f32, DType::f64}) {
    for (const DType to : {DType::bf16, DType::f16, DType::f32, DType::f64}) {
      Values many(37, 0.5);
      many[3] = kNan;
      many[17] = kInf;
      many[36] = -kInf;
      const Values got = converted(many, from, to);
      EXPECT_TRUE(std::isnan(got[3]));
      EXPECT_EQ(got[17], kInf);
      EXPECT_EQ(got[36], -kInf);
      EXPECT_EQ(got[35], 0.5);
    }
  }
}

TEST_P(ConvertTest, EveryBf16AndF16ValueSurvivesTheRoundTrip) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const Tensor all = Tensor::empty(Shape{65536}, dtype);
    auto* bits = reinterpret_cast<std::uint16_t*>(all.raw());
    for (std::uint32_t i = 0; i < 65536; ++i) {
      bits[i] = static_cast<std::uint16_t>(i);
    }
    const Tensor back = to_dtype(to_dtype(all, DType::f32), dtype);
    const auto* got = reinterpret_cast<const std::uint16_t*>(back.raw());
    const Values wide = values_of(all);
    for (std::uint32_t i = 0; i < 65536; ++i) {
      if (!std::isnan(wide[i])) {
        ASSERT_EQ(got[i], bits[i]);
      }
    }
  }
}

/// Elements made from their bit patterns.
template <class Bits>
Tensor from_bits(DType dtype, const std::vector<Bits>& bits) {
  const Tensor tensor = Tensor::empty(Shape{static_cast<std::int64_t>(bits.size())}, dtype);
  std::memcpy(tensor.raw(), bits.data(), tensor.nbytes());
  return tensor;
}

// Float16's own conversions, written for clarity, say what the vectorised ones must give.
TEST_P(ConvertTest, F16AgreesWithFloat16BitByBit) {
  std::vector<std::uint16_t> all(65536);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  const Tensor wide = to_dtype(from_bits(DType::f16, all), DType::f32);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(wide.data<float>()[i]),
              std::bit_cast<std::uint32_t>(Float16::to_float(all[i])))
        << i;
  }
  // Each upper half with lower halves around the ties of normal and of subnormal results.
  std::vector<std::uint32_t> floats;
  for (std::uint32_t high = 0; high < 65536; ++high) {
    for (const std::uint32_t low : {0U, 1U, 0x0FFFU, 0x1000U, 0x1001U, 0x3000U, 0xFFFFU}) {
      floats.push_back(high << 16 | low);
    }
  }
  const Tensor narrow = to_dtype(from_bits(DType::f32, floats), DType::f16);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    ASSERT_EQ(narrow.data<Float16>()[i].bits, Float16::from_float(std::bit_cast<float>(floats[i])))
        << floats[i];
  }
}

TEST(ConvertArgumentsTest, RejectsWhatItCannotConvert) {
  const Tensor f = Tensor::zeros(Shape{3}, DType::f32);
  EXPECT_THROW(convert(f, Tensor::zeros(Shape{4}, DType::bf16)), ArgumentError);
  EXPECT_THROW(convert(f, Tensor::zeros(Shape{3}, DType::i32)), ArgumentError);
  EXPECT_THROW(convert(f, Tensor()), ArgumentError);
  EXPECT_NO_THROW(convert(f, Tensor::zeros(Shape{1, 3}, DType::bf16)));
  const Tensor ids = test::make_i32({1, 2, 3});
  EXPECT_TRUE(test::same_bits(to_dtype(ids, DType::i32), ids));
  EXPECT_TRUE(to_dtype(Tensor::meta(Shape{2}, DType::f32), DType::bf16).is_meta());
}

}  // namespace
}  // namespace sherd
