#include <gtest/gtest.h>

#include "sherd/base/error.hpp"
#include "sherd/tensor/kernel/embedding.hpp"
#include "unit/tensor/values.hpp"

namespace sherd::kernel {
namespace {

using test::make_i32;
using test::random;
using test::Values;
using test::values_of;

SHERD_EVERY_WAY(CrossEntropyTest);

Tensor targets_for(std::int64_t rows, std::int64_t classes) {
  std::vector<std::int32_t> ids;
  for (std::int64_t r = 0; r < rows; ++r) {
    ids.push_back(r % 4 == 3 ? -100 : static_cast<std::int32_t>(r * 7 % classes));
  }
  return make_i32(ids);
}

TEST_P(CrossEntropyTest, AgreesWithTheDefinition) {
  for (const auto& [rows, classes] :
       {std::pair{0, 3}, std::pair{1, 1}, std::pair{5, 3}, std::pair{9, 37}, std::pair{6, 256}}) {
    const Tensor logits = random(Shape{rows, classes}, dtype(), 1, 8.0);
    const Tensor targets = targets_for(rows, classes);
    const Tensor lse = Tensor::empty(Shape{rows}, compute());
    const double loss = cross_entropy_forward(logits, targets, lse, path());
    const Tensor dlogits = Tensor::empty(Shape{rows, classes}, dtype());
    cross_entropy_backward(logits, targets, lse, 0.125, dlogits, path());
    const Values x = values_of(logits);
    Values grad(x.size());
    double expected = 0;
    const auto width = static_cast<std::size_t>(classes);
    for (std::size_t r = 0; r < std::size_t(rows); ++r) {
      double sum = 0;
      for (std::size_t j = 0; j < width; ++j) {
        sum += std::exp(x[r * width + j]);
      }
      const std::int32_t target = targets.data<std::int32_t>()[r];
      if (target < 0) {
        continue;
      }
      expected += std::log(sum) - x[r * width + std::size_t(target)];
      for (std::size_t j = 0; j < width; ++j) {
        const double hit = j == std::size_t(target) ? 1 : 0;
        grad[r * width + j] = 0.125 * (std::exp(x[r * width + j]) / sum - hit);
      }
    }
    EXPECT_NEAR(loss, expected, (1 + std::fabs(expected)) * 60 * test::rounding(compute()));
    test::expect_close(dlogits, grad, bound(80), 0.125);
    cross_entropy_backward(logits, targets, lse, 0.125, logits, path());
    EXPECT_TRUE(test::same_bits(logits, dlogits)) << "in place";
  }
}

TEST_P(CrossEntropyTest, LargeLogitsAndNan) {
  Values x(2 * 20, -1000.0);
  x[3] = 1000;
  x[25] = test::kNan;
  const Tensor logits = test::make(Shape{2, 20}, dtype(), x);
  const Tensor lse = Tensor::empty(Shape{2}, compute());
  EXPECT_NEAR(cross_entropy_forward(logits, make_i32({3, -1}), lse, path()), 0, 1e-6);
  EXPECT_TRUE(std::isnan(values_of(lse)[1]));
  EXPECT_TRUE(std::isnan(cross_entropy_forward(logits, make_i32({3, 0}), lse, path())));
  const double far = cross_entropy_forward(logits, make_i32({0, -1}), lse, path());
  EXPECT_NEAR(far, 2000, 2000 * test::rounding(dtype()) * 2);
}

TEST(CrossEntropyGradientTest, FiniteDifferences) {
  const Tensor logits = random(Shape{3, 5}, DType::f64, 1, 2.0);
  const Tensor targets = make_i32({4, -1, 0});
  const Tensor lse = Tensor::empty(Shape{3}, DType::f64);
  const auto loss = [&] { return 0.5 * cross_entropy_forward(logits, targets, lse); };
  loss();
  const Tensor dlogits = Tensor::empty(Shape{3, 5}, DType::f64);
  cross_entropy_backward(logits, targets, lse, 0.5, dlogits);
  test::expect_gradient(logits, dlogits, loss);
}

TEST(CrossEntropyArgumentsTest, RejectsTargetsBeyondTheClasses) {
  const Tensor logits = Tensor::zeros(Shape{2, 3}, DType::f32);
  const Tensor lse = Tensor::zeros(Shape{2}, DType::f32);
  EXPECT_THROW(cross_entropy_forward(logits, make_i32({0, 3}), lse), ArgumentError);
  EXPECT_THROW(cross_entropy_forward(logits, make_i32({0}), lse), ArgumentError);
}

}  // namespace
}  // namespace sherd::kernel
