#include <gtest/gtest.h>

#include "sherd/base/error.hpp"
#include "sherd/tensor/kernel/optimizer.hpp"
#include "unit/tensor/values.hpp"

namespace sherd::kernel {
namespace {

using test::random;
using test::Values;
using test::values_of;

SHERD_EVERY_WAY(GradSumTest);

double to_double(const Tensor& tensor, std::size_t i) {
  return tensor.dtype() == DType::f64 ? tensor.data<double>()[i]
                                      : static_cast<double>(tensor.data<float>()[i]);
}

TEST_P(GradSumTest, SumsInOrderAndTakesStatistics) {
  for (const std::int64_t count : {0, 1, 9, 4096, 4097, 10007}) {
    for (const int sources : {0, 1, 2, 5}) {
      for (const bool accumulate : {false, true}) {
        std::vector<Tensor> parts;
        Values sum(std::size_t(count), 0.0);
        const Tensor dst = random(Shape{count}, compute(), 99);
        for (int s = 0; s < sources; ++s) {
          parts.push_back(random(Shape{count}, compute(), unsigned(s)));
          for (std::size_t i = 0; i < sum.size(); ++i) {
            sum[i] += to_double(parts.back(), i);
          }
        }
        double squares = 0;
        for (std::size_t i = 0; i < sum.size(); ++i) {
          sum[i] += accumulate ? to_double(dst, i) : 0;
          squares += sum[i] * sum[i];
        }
        const GradStats stats = sum_sources(parts, dst, accumulate, path());
        test::expect_close(dst, sum, 8 * test::rounding(compute()));
        EXPECT_NEAR(stats.sum_of_squares, squares, (1 + squares) * 128 * test::rounding(compute()));
        EXPECT_EQ(stats.nonfinite, 0);
        EXPECT_EQ(grad_stats(dst).sum_of_squares, stats.sum_of_squares);
      }
    }
  }
}

TEST_P(GradSumTest, CountsWhatIsNotFinite) {
  Values values(5000, 1.0);
  values[0] = test::kNan;
  values[4095] = test::kInf;
  values[4999] = -test::kInf;
  const Tensor bad = test::make(Shape{5000}, compute(), values);
  const Tensor dst = Tensor::zeros(Shape{5000}, compute());
  const std::vector<Tensor> parts = {bad};
  EXPECT_EQ(sum_sources(parts, dst, true, path()).nonfinite, 3);
  EXPECT_EQ(grad_stats(bad).nonfinite, 3);
}

TEST(GradSumBitsTest, EveryInstructionSetAndPathGivesTheSameBits) {
  const std::vector<Tensor> parts = {random(Shape{10007}, DType::f32, 1),
                                     random(Shape{10007}, DType::f32, 2),
                                     random(Shape{10007}, DType::f32, 3)};
  const Tensor first = Tensor::empty(Shape{10007}, DType::f32);
  limit_host_isa(Isa::baseline);
  const GradStats expected = sum_sources(parts, first, false, Path::host);
  limit_host_isa(Isa::v4);
  for (const auto& [path, isa] : {std::pair{Path::host, Isa::v3}, std::pair{Path::host, Isa::v4},
                                  std::pair{Path::kokkos, Isa::v4}}) {
    limit_host_isa(isa);
    const Tensor dst = Tensor::empty(Shape{10007}, DType::f32);
    const GradStats stats = sum_sources(parts, dst, false, path);
    EXPECT_TRUE(test::same_bits(dst, first));
    EXPECT_EQ(stats.sum_of_squares, expected.sum_of_squares);
  }
  limit_host_isa(Isa::v4);
}

TEST(GradSumArgumentsTest, RejectsWhatDoesNotFit) {
  const Tensor f = Tensor::zeros(Shape{4}, DType::f32);
  const std::vector<Tensor> shorter = {Tensor::zeros(Shape{3}, DType::f32)};
  EXPECT_THROW(sum_sources(shorter, f, false), ArgumentError);
  EXPECT_THROW(sum_sources({}, to_dtype(f, DType::bf16), false), ArgumentError);
}

}  // namespace
}  // namespace sherd::kernel
