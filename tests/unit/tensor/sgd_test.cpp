#include <gtest/gtest.h>

#include "sherd/tensor/kernel/optimizer.hpp"
#include "unit/tensor/values.hpp"

namespace sherd::kernel {
namespace {

using test::random;
using test::Values;
using test::values_of;

class SgdTest : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Masters, SgdTest, testing::Values(DType::f32, DType::f64));

TEST_P(SgdTest, FollowsTheReferenceWithMomentumAndDecay) {
  const Shape shape{45};
  const Tensor param = random(shape, GetParam(), 1), copy = Tensor::zeros(shape, DType::bf16);
  const Tensor velocity = test::make(shape, GetParam(), Values(45, 1e30));  // must not be read
  Values p = values_of(param), v(45);
  SgdParams h{0.1, 0.9, 0.01, 0.5, true};
  for (int step = 0; step < 4; ++step) {
    const Tensor grad = random(shape, GetParam(), unsigned(2 + step));
    const Values g = values_of(grad);
    for (std::size_t i = 0; i < 45; ++i) {
      v[i] = (step == 0 ? 0 : 0.9 * v[i]) + 0.5 * g[i] + 0.01 * p[i];
      p[i] -= 0.1 * v[i];
    }
    sgd_step(h, param, grad, velocity, copy);
    h.first_step = false;
  }
  test::expect_close(param, p, 20 * test::rounding(GetParam()));
  test::expect_close(velocity, v, 20 * test::rounding(GetParam()));
  EXPECT_TRUE(test::same_bits(copy, to_dtype(param, DType::bf16)));
}

TEST_P(SgdTest, ANarrowGradientGivesTheBitsOfTheWidenedOne) {
  const Shape shape{5000};
  const Tensor grad = random(shape, DType::bf16, 3);
  const Tensor expected = random(shape, GetParam(), 1), found = expected.clone();
  const Tensor velocity = random(shape, GetParam(), 2), other = velocity.clone();
  const Tensor copy = Tensor::empty(shape, DType::f16), other_copy = copy.clone();
  const SgdParams h{0.1, 0.9, 0.01, 0.5, false};
  sgd_step(h, expected, to_dtype(grad, GetParam()), velocity, copy);
  sgd_step(h, found, grad, other, other_copy);
  EXPECT_TRUE(test::same_bits(found, expected));
  EXPECT_TRUE(test::same_bits(other, velocity));
  EXPECT_TRUE(test::same_bits(other_copy, copy));
}

TEST_P(SgdTest, PlainWithoutABuffer) {
  const Tensor param = test::make(Shape{3}, GetParam(), {1, 2, 3});
  const Tensor grad = test::make(Shape{3}, GetParam(), {1, -1, 0});
  sgd_step({0.5, 0.9, 0.0, 1.0, false}, param, grad, Tensor(), Tensor());
  test::expect_close(param, {0.5, 2.5, 3}, 0);
}

}  // namespace
}  // namespace sherd::kernel
