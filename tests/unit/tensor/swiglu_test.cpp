#include <gtest/gtest.h>

#include "sherd/base/error.hpp"
#include "sherd/tensor/kernel/elementwise.hpp"
#include "unit/tensor/values.hpp"

namespace sherd::kernel {
namespace {

using test::random;
using test::Values;
using test::values_of;

SHERD_EVERY_WAY(SwigluTest);

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST_P(SwigluTest, ForwardAndBackwardAgreeWithTheDefinition) {
  for (const std::int64_t count : {0, 1, 7, 16, 33, 1000}) {
    const Tensor gate = random(Shape{count}, dtype(), 1, 12.0);
    const Tensor up = random(Shape{count}, dtype(), 2, 2.0);
    const Tensor dy = random(Shape{count}, dtype(), 3);
    const Tensor y = Tensor::empty(Shape{count}, dtype());
    const Tensor dgate = Tensor::empty(Shape{count}, dtype());
    const Tensor dup = Tensor::empty(Shape{count}, dtype());
    swiglu_forward(gate, up, y, path());
    swiglu_backward(gate, up, dy, dgate, dup, path());
    const Values g = values_of(gate), u = values_of(up), d = values_of(dy);
    Values ey, eg, eu;
    for (std::size_t i = 0; i < g.size(); ++i) {
      const double s = sigmoid(g[i]);
      ey.push_back(g[i] * s * u[i]);
      eg.push_back(d[i] * u[i] * s * (1 + g[i] * (1 - s)));
      eu.push_back(d[i] * g[i] * s);
    }
    // A handful of f32 operations, and e^x to two units, whose relative error the argument scales.
    test::expect_close(y, ey, bound(40));
    test::expect_close(dgate, eg, bound(40));
    test::expect_close(dup, eu, bound(40));
  }
}

TEST_P(SwigluTest, ExtremeAndNonFiniteInputs) {
  Values g(40, 1.0);
  g[0] = 200;
  g[1] = -200;
  g[2] = test::kNan;
  g[39] = test::kNan;
  g[3] = test::kInf;
  const Tensor gate = test::make(Shape{40}, dtype(), g);
  const Tensor up = test::make(Shape{40}, dtype(), Values(40, 1.0));
  const Tensor y = Tensor::empty(Shape{40}, dtype());
  swiglu_forward(gate, up, y, path());
  const Values got = values_of(y);
  EXPECT_EQ(got[0], 200);
  EXPECT_NEAR(got[1], 0, 1e-30);
  EXPECT_TRUE(std::isnan(got[2]));
  EXPECT_TRUE(std::isnan(got[39]));
  EXPECT_EQ(got[3], test::kInf);
}

TEST(SwigluGradientTest, FiniteDifferences) {
  const Shape shape{11};
  const Tensor gate = random(shape, DType::f64, 1, 3.0), up = random(shape, DType::f64, 2);
  const Tensor dy = random(shape, DType::f64, 3), y = Tensor::empty(shape, DType::f64);
  const Tensor dgate = Tensor::empty(shape, DType::f64), dup = Tensor::empty(shape, DType::f64);
  swiglu_backward(gate, up, dy, dgate, dup);
  const auto loss = [&] {
    swiglu_forward(gate, up, y);
    return test::inner(y, dy);
  };
  test::expect_gradient(gate, dgate, loss);
  test::expect_gradient(up, dup, loss);
}

TEST(SwigluArgumentsTest, RejectsMixedShapesAndIntegers) {
  const Tensor a = Tensor::zeros(Shape{4}, DType::f32);
  EXPECT_THROW(swiglu_forward(a, Tensor::zeros(Shape{5}, DType::f32), a), ArgumentError);
  EXPECT_THROW(swiglu_forward(a, a, Tensor()), ArgumentError);
  const Tensor i = Tensor::zeros(Shape{4}, DType::i32);
  EXPECT_THROW(swiglu_forward(i, i, i), ArgumentError);
}

}  // namespace
}  // namespace sherd::kernel
