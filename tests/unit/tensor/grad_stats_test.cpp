#include <gtest/gtest.h>

#include "sherd/base/error.hpp"
#include "sherd/tensor/kernel/optimizer.hpp"
#include "unit/tensor/values.hpp"

namespace sherd::kernel {
namespace {

using test::random;
using test::Values;
using test::values_of;

class GradStatsTest : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, GradStatsTest,
                         testing::Values(DType::f32, DType::bf16, DType::f16, DType::f64));

TEST_P(GradStatsTest, SumsPowersOfMagnitudes) {
  for (const std::int64_t count : {0, 1, 17, 4096, 4099, 10007}) {
    const Tensor grad = random(Shape{count}, GetParam(), 3, 2.0);
    double squares = 0, magnitudes = 0, cubes = 0, largest = 0;
    for (const double value : values_of(grad)) {
      squares += value * value;
      magnitudes += std::fabs(value);
      cubes += std::fabs(value * value * value);
      largest = std::max(largest, std::fabs(value));
    }
    EXPECT_NEAR(grad_stats(grad).sum_of_squares, squares, squares * 1e-13);
    EXPECT_NEAR(grad_power_sum(grad, NormKind::l1), magnitudes, magnitudes * 1e-13);
    EXPECT_NEAR(grad_power_sum(grad, NormKind::l3), cubes, cubes * 1e-13);
    EXPECT_EQ(grad_power_sum(grad, NormKind::max), largest);
  }
}

TEST_P(GradStatsTest, EveryInstructionSetGivesTheSameBits) {
  const Tensor grad = random(Shape{10007}, GetParam(), 4);
  const auto all = [&grad](Isa isa) {
    limit_host_isa(isa);
    const Values result{grad_stats(grad).sum_of_squares, grad_power_sum(grad, NormKind::l1),
                        grad_power_sum(grad, NormKind::l3), grad_power_sum(grad, NormKind::max)};
    limit_host_isa(Isa::v4);
    return result;
  };
  EXPECT_EQ(all(Isa::v3), all(Isa::baseline));
  EXPECT_EQ(all(Isa::v4), all(Isa::baseline));
}

/// 9000 ordinary values, but for what is put at some places.
Tensor with(DType dtype, const std::vector<std::pair<std::size_t, double>>& places) {
  Values values(9000, -0.5);
  for (const auto& [index, value] : places) {
    values[index] = value;
  }
  return test::make(Shape{9000}, dtype, values);
}

TEST_P(GradStatsTest, NanAndInfinityReachEveryNorm) {
  for (const std::size_t place : {0U, 15U, 4095U, 4096U, 8999U}) {
    const Tensor infinite = with(GetParam(), {{place, -test::kInf}});
    const Tensor nan = with(GetParam(), {{place, test::kNan}});
    const Tensor both = with(GetParam(), {{place, test::kNan}, {8000, test::kInf}, {3, 7.0}});
    for (const NormKind kind : {NormKind::l1, NormKind::l3, NormKind::max}) {
      EXPECT_EQ(grad_power_sum(infinite, kind), test::kInf) << place;
      EXPECT_TRUE(std::isnan(grad_power_sum(nan, kind))) << place;
      EXPECT_TRUE(std::isnan(grad_power_sum(both, kind))) << place;
    }
    EXPECT_EQ(grad_stats(both).nonfinite, 2);
  }
}

TEST_P(GradStatsTest, FindsTheFirstThatIsNotFinite) {
  EXPECT_EQ(first_nonfinite(Tensor::empty(Shape{0}, GetParam())), -1);
  EXPECT_EQ(first_nonfinite(with(GetParam(), {})), -1);
  EXPECT_EQ(first_nonfinite(with(GetParam(), {{0, test::kNan}})), 0);
  EXPECT_EQ(first_nonfinite(with(GetParam(), {{8999, test::kInf}})), 8999);
  EXPECT_EQ(first_nonfinite(with(GetParam(), {{4096, -test::kInf}, {4095, test::kNan}})), 4095);
  EXPECT_EQ(first_nonfinite(with(GetParam(), {{8500, test::kNan}, {8501, test::kInf}})), 8500);
}

TEST(GradStatsArgumentsTest, RejectsWhatIsNotFloating) {
  const Tensor ids = test::make_i32({1, 2});
  EXPECT_THROW(static_cast<void>(grad_stats(ids)), ArgumentError);
  EXPECT_THROW(static_cast<void>(grad_power_sum(ids, NormKind::l1)), ArgumentError);
  EXPECT_THROW(static_cast<void>(first_nonfinite(ids)), ArgumentError);
  EXPECT_THROW(static_cast<void>(grad_stats(Tensor())), ArgumentError);
}

}  // namespace
}  // namespace sherd::kernel
