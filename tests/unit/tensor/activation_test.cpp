#include <gtest/gtest.h>

#include "sherd/tensor/kernel/elementwise.hpp"
#include "unit/tensor/values.hpp"

namespace sherd::kernel {
namespace {

using test::random;
using test::Values;
using test::values_of;

SHERD_EVERY_WAY(ActivationTest);

constexpr Activation kAll[] = {Activation::relu, Activation::tanh, Activation::silu,
                               Activation::gelu_tanh};

double definition(Activation kind, double x) {
  switch (kind) {
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::tanh:
      return std::tanh(x);
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  }
  return 0;
}

TEST_P(ActivationTest, ForwardAgreesWithTheDefinition) {
  for (const Activation kind : kAll) {
    for (const std::int64_t count : {0, 1, 37}) {
      const Tensor x = random(Shape{count}, dtype(), 1, 6.0);
      const Tensor y = Tensor::empty(Shape{count}, dtype());
      activation_forward(kind, x, y);
      Values expected;
      for (const double value : values_of(x)) {
        expected.push_back(definition(kind, value));
      }
      test::expect_close(y, expected, bound(30));
    }
  }
}

TEST_P(ActivationTest, BackwardOverwritesOrAdds) {
  for (const Activation kind : kAll) {
    const Tensor x = random(Shape{37}, dtype(), 1, 4.0);
    const Tensor dy = random(Shape{37}, dtype(), 2);
    const Tensor dx = random(Shape{37}, dtype(), 3);
    const Values old = values_of(dx);
    activation_backward(kind, x, dy, dx, Write::accumulate);
    const Tensor fresh = test::make(Shape{37}, dtype(), Values(37, 99.0));
    activation_backward(kind, x, dy, fresh, Write::overwrite);
    Values expected, added;
    for (std::size_t i = 0; i < 37; ++i) {
      const double at = values_of(x)[i];
      const double slope = (definition(kind, at + 1e-6) - definition(kind, at - 1e-6)) / 2e-6;
      expected.push_back(values_of(dy)[i] * slope);
      added.push_back(old[i] + values_of(dy)[i] * slope);
    }
    test::expect_close(fresh, expected, bound(60) + 1e-8);
    test::expect_close(dx, added, bound(60) + 1e-8);
  }
}

TEST_P(ActivationTest, NanSurvives) {
  for (const Activation kind : kAll) {
    const Tensor x = test::make(Shape{20}, dtype(), Values(20, test::kNan));
    const Tensor y = Tensor::empty(Shape{20}, dtype());
    activation_forward(kind, x, y);
    for (const double value : values_of(y)) {
      ASSERT_TRUE(std::isnan(value));
    }
  }
}

}  // namespace
}  // namespace sherd::kernel
