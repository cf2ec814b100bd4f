#include "sherd/autograd/functional.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sherd/base/error.hpp"
#include "support/grad_check.hpp"

namespace sherd::autograd {
namespace {

using test::check_gradients;
using test::random_ids;
using test::random_tensor;
using Inputs = std::vector<Variable>;

TEST(FunctionalGradients, Linear) {
  check_gradients([](const Inputs& in) { return linear(in[0], in[1]); },
                  {random_tensor({2, 3, 5}, 1), random_tensor({7, 5}, 2)});
}

TEST(FunctionalGradients, LinearWithBias) {
  check_gradients([](const Inputs& in) { return linear(in[0], in[1], in[2]); },
                  {random_tensor({3, 5}, 1), random_tensor({7, 5}, 2), random_tensor({7}, 3)});
}

TEST(FunctionalGradients, LinearMulti) {
  check_gradients(
      [](const Inputs& in) {
        const auto y = linear_multi(in[0], std::vector<Variable>{in[1], in[2], in[3]});
        return add(swiglu(y[0], y[1]), y[2]);
      },
      {random_tensor({3, 5}, 1), random_tensor({7, 5}, 2), random_tensor({7, 5}, 3),
       random_tensor({7, 5}, 4)});
}

TEST(FunctionalGradients, LinearMultiWithAnUnusedOutput) {
  Variable unused(random_tensor({4, 5}, 3), true);
  check_gradients(
      [&unused](const Inputs& in) {
        return linear_multi(in[0], std::vector<Variable>{unused, in[1]})[1];
      },
      {random_tensor({3, 5}, 1), random_tensor({7, 5}, 2)});
  EXPECT_FALSE(unused.grad_written());
}

TEST(FunctionalGradients, RmsNorm) {
  check_gradients([](const Inputs& in) { return rms_norm(in[0], in[1], 1e-3); },
                  {random_tensor({3, 1, 13}, 1), random_tensor({13}, 2)});
}

TEST(FunctionalGradients, Add) {
  check_gradients([](const Inputs& in) { return add(in[0], in[1]); },
                  {random_tensor({3, 5}, 1), random_tensor({3, 5}, 2)});
}

TEST(FunctionalGradients, AddOfOneVariableToItself) {
  check_gradients([](const Inputs& in) { return add(add(in[0], in[0]), in[0]); },
                  {random_tensor({3, 5}, 1)});
}

TEST(FunctionalGradients, Swiglu) {
  check_gradients([](const Inputs& in) { return swiglu(in[0], in[1]); },
                  {random_tensor({3, 11}, 1), random_tensor({3, 11}, 2)});
}

TEST(FunctionalGradients, SwigluOfOneVariable) {
  check_gradients([](const Inputs& in) { return swiglu(in[0], in[0]); },
                  {random_tensor({3, 11}, 1)});
}

TEST(FunctionalGradients, Activations) {
  using enum kernel::Activation;
  for (const auto kind : {relu, tanh, silu, gelu_tanh}) {
    check_gradients([kind](const Inputs& in) { return activation(kind, in[0]); },
                    {random_tensor({3, 11}, 1)});
  }
}

TEST(FunctionalGradients, Embedding) {
  const Tensor ids = random_ids({2, 9}, 5, 3);  // some rows used several times
  check_gradients([&ids](const Inputs& in) { return embedding(in[0], ids); },
                  {random_tensor({6, 5}, 1)});
}

TEST(FunctionalGradients, Rope) {
  const auto tables = kernel::make_rope_tables(9, 6, 100.0, DType::f64);
  check_gradients([&tables](const Inputs& in) { return rope(in[0], 6, &tables); },
                  {random_tensor({2, 7, 18}, 1)});
}

TEST(FunctionalGradients, RopeThatOnlyPacks) {
  check_gradients([](const Inputs& in) { return rope(in[0], 5, nullptr); },
                  {random_tensor({2, 7, 15}, 1)});
}

TEST(FunctionalGradients, AttentionWithGroupedHeads) {
  check_gradients([](const Inputs& in) { return attention(in[0], in[1], in[2]); },
                  {random_tensor({2, 6, 5, 3}, 1), random_tensor({2, 2, 5, 3}, 2),
                   random_tensor({2, 2, 5, 3}, 3)});
}

TEST(FunctionalGradients, CrossEntropy) {
  const Tensor targets = random_ids({2, 3}, 7, 3);
  targets.span<std::int32_t>()[4] = -1;  // left out
  check_gradients([&targets](const Inputs& in) { return cross_entropy(in[0], targets, 0.3); },
                  {random_tensor({2, 3, 7}, 1)});
}

TEST(FunctionalGradients, SquaredError) {
  const Tensor target = random_tensor({3, 5}, 9);
  check_gradients([&target](const Inputs& in) { return squared_error(in[0], target, 0.7); },
                  {random_tensor({3, 5}, 1)});
}

TEST(FunctionalGradients, Reshape) {
  check_gradients(
      [](const Inputs& in) {
        return reshape(in[0], {5, 2, 3});
      },
      {random_tensor({3, 10}, 1)});
}

TEST(FunctionalGradients, CastGoesBackInTheOriginalType) {
  Variable x(random_tensor({3, 5}, 1, DType::f32), true);
  const Tensor direction = random_tensor({3, 5}, 2);
  backward(cast(x, DType::f64), direction);
  EXPECT_TRUE(test::same_bits(x.grad(), to_dtype(direction, DType::f32)));
}

TEST(Functional, CrossEntropyOfEqualLogitsIsTheLogOfTheirNumber) {
  const Variable logits(Tensor::zeros({4, 8}, DType::f32));
  const Variable loss = cross_entropy(logits, random_ids({4}, 8, 1), 0.25);
  EXPECT_EQ(loss.dtype(), DType::f64);
  EXPECT_EQ(loss.shape().rank(), 0U);
  EXPECT_NEAR(*loss.data().data<double>(), std::log(8.0), 1e-6);
}

TEST(Functional, CrossEntropyReusesLogitsThatNobodyElseHolds) {
  const Tensor targets = random_ids({4}, 8, 1);
  for (const bool held : {false, true}) {
    Variable x(random_tensor({4, 8}, 1), true);
    std::byte* gradient = nullptr;
    const auto watch = [&gradient](BackwardContext& context) {
      gradient = context.grad_output(0).raw();
      context.pass(0, context.grad_output(0));
    };
    Variable logits = record_one("watch", {x}, x.data().clone(), {}, watch);
    const Tensor values = logits.data().clone();
    const std::byte* const memory = logits.data().raw();
    const Variable loss = cross_entropy(logits, targets, 1.0);
    const Tensor other_holder = held ? logits.data() : Tensor();
    logits = Variable();
    backward(loss);
    EXPECT_EQ(gradient == memory, !held);
    EXPECT_TRUE(!held || test::same_bits(other_holder, values));
  }
}

TEST(Functional, HalfPrecisionParametersHaveFullPrecisionGradients) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    Variable x(random_tensor({3, 4}, 1, dtype), true);
    Variable weight(random_tensor({5, 4}, 2, dtype), true);
    Variable scale(random_tensor({5}, 3, dtype), true);
    const Variable y = rms_norm(linear(x, weight), scale, 1e-5);
    EXPECT_EQ(y.dtype(), dtype);
    backward(y, random_tensor({3, 5}, 4, dtype));
    EXPECT_EQ(x.grad().dtype(), DType::f32);
    EXPECT_EQ(weight.grad().dtype(), DType::f32);
    EXPECT_EQ(scale.grad().dtype(), DType::f32);
  }
}

TEST(Functional, SquaredErrorOfHalfPrecision) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const Tensor exact = to_dtype(random_tensor({3, 5}, 1, dtype), DType::f64);
    const Tensor target = to_dtype(random_tensor({3, 5}, 2, dtype), DType::f64);
    Variable wide(exact, true);
    Variable narrow(to_dtype(exact, dtype), true);
    const Variable expected = squared_error(wide, target, 0.7);
    const Variable found = squared_error(narrow, to_dtype(target, dtype), 0.7);
    EXPECT_EQ(*found.data().data<double>(), *expected.data().data<double>());
    backward(expected);
    backward(found);
    const Tensor gradient = to_dtype(narrow.grad(), DType::f64);
    for (std::size_t i = 0; i < 15; ++i) {
      const double want = wide.grad().span<double>()[i];
      EXPECT_NEAR(gradient.span<double>()[i], want, std::abs(want) * 0x1p-8);
    }
  }
}

TEST(Functional, ShapesThatDoNotFitAreArgumentErrors) {
  const Variable x(random_tensor({3, 4}, 1));
  EXPECT_THROW((void)linear(x, Variable(random_tensor({5, 3}, 2))), ArgumentError);
  EXPECT_THROW((void)rms_norm(x, Variable(random_tensor({3}, 2)), 1e-5), ArgumentError);
  EXPECT_THROW((void)add(x, Variable(random_tensor({4, 3}, 2))), ArgumentError);
  EXPECT_THROW((void)rope(x, 2, nullptr), ArgumentError);
  EXPECT_THROW((void)cross_entropy(x, random_ids({4}, 2, 1), 1.0), ArgumentError);
  EXPECT_THROW((void)squared_error(x, random_tensor({4, 3}, 2), 1.0), ArgumentError);
}

}  // namespace
}  // namespace sherd::autograd
