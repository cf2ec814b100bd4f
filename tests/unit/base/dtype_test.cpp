#include "sherd/base/dtype.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sherd/base/error.hpp"
#include "sherd/base/half.hpp"

namespace sherd {
namespace {

constexpr DType kAll[] = {DType::f64, DType::f32, DType::f16, DType::bf16,
                          DType::i64, DType::i32, DType::u16, DType::u8};

TEST(DType, NamesAreReadBack) {
  for (const DType dtype : kAll) {
    EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
    EXPECT_NE(to_string(dtype), "?");
  }
}

TEST(DType, AnUnknownNameListsTheKnownOnes) {
  try {
    static_cast<void>(parse_dtype("float32"));
    FAIL() << "nothing was thrown";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("'float32'"),
                                             testing::HasSubstr("f64, f32, f16, bf16")));
  }
}

TEST(DType, SizesAreThoseOfTheElementTypes) {
  EXPECT_EQ(size_of(dtype_of<double>), sizeof(double));
  EXPECT_EQ(size_of(dtype_of<float>), sizeof(float));
  EXPECT_EQ(size_of(dtype_of<Float16>), sizeof(Float16));
  EXPECT_EQ(size_of(dtype_of<BFloat16>), sizeof(BFloat16));
  EXPECT_EQ(size_of(dtype_of<std::int64_t>), sizeof(std::int64_t));
  EXPECT_EQ(size_of(dtype_of<std::int32_t>), sizeof(std::int32_t));
  EXPECT_EQ(size_of(dtype_of<std::uint16_t>), sizeof(std::uint16_t));
  EXPECT_EQ(size_of(dtype_of<std::uint8_t>), sizeof(std::uint8_t));
}

TEST(DType, FourAreFloating) {
  int floating = 0;
  for (const DType dtype : kAll) {
    floating += is_floating(dtype) ? 1 : 0;
  }
  EXPECT_EQ(floating, 4);
  EXPECT_FALSE(is_floating(DType::u16));
}

}  // namespace
}  // namespace sherd
