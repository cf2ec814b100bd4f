#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sherd/base/error.hpp"
#include "support/grad_check.hpp"

namespace sherd::autograd {
namespace {

using test::random_tensor;
using test::same_bits;
using testing::ElementsAre;

/// An identity that says when backward comes by: what an engine hangs between modules.
Variable mark(const Variable& x, std::string name, std::vector<std::string>& log) {
  return record_one("mark", {x}, x.data(), {}, [name, &log](BackwardContext& context) {
    log.push_back(name);
    context.pass(0, context.grad_output(0));
  });
}

Tensor filled(Shape shape, double value) {
  const Tensor tensor = Tensor::empty(std::move(shape), DType::f64);
  for (double& element : tensor.span<double>()) {
    element = value;
  }
  return tensor;
}

TEST(Tape, RunsInStrictReverseOfRecording) {
  std::vector<std::string> log;
  Variable x(filled({2}, 1.0), true);
  const Variable a = mark(x, "a", log);
  const Variable b = mark(x, "b", log);  // another branch, recorded second
  const Variable c = mark(a, "c", log);
  const Variable d = mark(b, "d", log);
  const Variable e = mark(add(d, c), "e", log);
  backward(e);
  EXPECT_THAT(log, ElementsAre("e", "d", "c", "b", "a"));
  EXPECT_TRUE(same_bits(x.grad(), filled({2}, 2.0)));
}

TEST(Tape, RunsOnlyWhatTheRootDependsOn) {
  std::vector<std::string> log;
  Variable x(filled({2}, 1.0), true);
  const Variable a = mark(x, "a", log);
  const Variable unrelated = mark(x, "unrelated", log);
  backward(mark(a, "root", log));
  EXPECT_THAT(log, ElementsAre("root", "a"));
}

TEST(Tape, AGradientPassedOnIsNotChangedByALaterAddition) {
  Variable x(filled({3}, 1.0), true);
  const Tensor seed = filled({3}, 5.0);
  const Variable a = reshape(x, {3});
  backward(add(a, add(a, a)), seed);
  EXPECT_TRUE(same_bits(seed, filled({3}, 5.0)));
  EXPECT_TRUE(same_bits(x.grad(), filled({3}, 15.0)));
}

TEST(Tape, AGradientPassedOnIsNotChangedByAKernelThatAdds) {
  Variable x(filled({1, 2}, 1.0), true);
  Variable y(filled({1, 2}, 1.0), true);
  const Variable a = reshape(x, {1, 2});
  const Variable b = reshape(y, {1, 2});
  const Variable product = linear(a, Variable(filled({2, 2}, 3.0)));
  backward(add(product, add(a, b)));  // a and b are passed one tensor, then the product adds to a's
  EXPECT_TRUE(same_bits(x.grad(), filled({1, 2}, 7.0)));
  EXPECT_TRUE(same_bits(y.grad(), filled({1, 2}, 1.0)));
}

TEST(Tape, LeavesAccumulateOverCalls) {
  Variable x(filled({3}, 2.0), true);
  backward(reshape(x, {3}), filled({3}, 1.5));
  backward(reshape(x, {3}), filled({3}, 0.25));
  EXPECT_TRUE(same_bits(x.grad(), filled({3}, 1.75)));
  x.clear_grad();
  EXPECT_FALSE(x.grad().defined());
}

TEST(Tape, TheFirstWriteOverwritesABufferAndLaterOnesAdd) {
  Variable x(random_tensor({4, 3}, 1), true);
  Variable weight(random_tensor({5, 3}, 2), true);
  const Tensor buffer = filled({5, 3}, std::nan(""));
  weight.set_grad_buffer(buffer);
  EXPECT_FALSE(weight.grad_written());
  const Tensor direction = random_tensor({4, 5}, 3);
  backward(linear(x, weight), direction.clone());
  ASSERT_TRUE(weight.grad_written());
  EXPECT_EQ(weight.grad().raw(), buffer.raw());
  const Tensor once = buffer.clone();
  backward(linear(x, weight), direction.clone());
  for (std::size_t i = 0; i < 15; ++i) {
    EXPECT_NEAR(buffer.span<double>()[i], 2.0 * once.span<double>()[i], 1e-14);
  }
  weight.clear_grad();
  EXPECT_FALSE(weight.grad_written());
  backward(linear(x, weight), direction.clone());
  EXPECT_TRUE(same_bits(buffer, once));
}

TEST(Tape, LeavesWithEqualGradientsDoNotShareMemory) {
  Variable a(filled({2}, 1.0), true);
  Variable b(filled({2}, 1.0), true);
  backward(add(a, b));
  EXPECT_NE(a.grad().raw(), b.grad().raw());
}

TEST(Tape, FrozenLeavesGetNothingAndCostNothing) {
  Variable x(random_tensor({2, 3}, 1), true);
  Variable frozen(random_tensor({4, 3}, 2));
  backward(linear(x, frozen), random_tensor({2, 4}, 3));
  EXPECT_TRUE(x.grad_written());
  EXPECT_FALSE(frozen.grad_written());
  EXPECT_FALSE(linear(Variable(random_tensor({2, 3}, 1)), frozen).requires_grad());
}

TEST(Tape, NothingIsRecordedWhileGradModeIsOff) {
  Variable x(filled({2}, 1.0), true);
  const GradMode off(false);
  EXPECT_FALSE(grad_enabled());
  EXPECT_FALSE(add(x, x).requires_grad());
  {
    const GradMode on(true);
    EXPECT_TRUE(add(x, x).requires_grad());
  }
  EXPECT_FALSE(add(x, x).requires_grad());
}

TEST(Tape, KnowsWhetherItIsInBackward) {
  Variable x(filled({2}, 1.0), true);
  bool inside = false;
  const Variable y = record_one("probe", {x}, x.data(), {}, [&inside](BackwardContext& context) {
    inside = in_backward();
    context.pass(0, context.grad_output(0));
  });
  EXPECT_FALSE(in_backward());
  backward(y);
  EXPECT_TRUE(inside);
  EXPECT_FALSE(in_backward());
}

TEST(Tape, FreesWhatAnOperationSavedAsSoonAsItHasRun) {
  Variable x(filled({2}, 1.0), true);
  Tensor kept = filled({2}, 3.0);
  bool freed = false;
  const Variable before = record_one("watch", {x}, x.data(), {}, [&](BackwardContext& context) {
    freed = !kept.shares_storage();
    context.pass(0, context.grad_output(0));
  });
  const Variable after =
      record_one("user", {before}, before.data(), {kept},
                 [](BackwardContext& context) { context.pass(0, context.grad_output(0)); });
  EXPECT_TRUE(kept.shares_storage());
  backward(after);
  EXPECT_TRUE(freed);
}

TEST(Tape, WhatIsTakenFromTheContextBelongsToTheTaker) {
  Variable x(filled({2}, 1.0), true);
  bool alone = false;
  const Variable y = record_one(
      "taker", {x}, x.data(), {filled({2}, 3.0), x.data()}, [&alone](BackwardContext& context) {
        const Tensor gradient = context.take_grad_output(0);
        const Tensor saved = context.take_saved(0);
        alone = !gradient.shares_storage() && !saved.shares_storage() &&
                context.take_saved(1).shares_storage() && !context.grad_output(0).defined();
        context.pass(0, saved);
      });
  backward(y);
  EXPECT_TRUE(alone);
  EXPECT_TRUE(same_bits(x.grad(), filled({2}, 3.0)));
}

TEST(Tape, ActivationsThatNobodySavedDieWithTheirVariables) {
  Variable x(filled({2}, 1.0), true);
  Tensor middle;
  Variable root;
  {
    const Variable a = add(x, x);
    middle = a.data();
    root = add(a, a);
  }
  EXPECT_FALSE(middle.shares_storage());
  backward(root);
  EXPECT_TRUE(same_bits(x.grad(), filled({2}, 4.0)));
}

TEST(Tape, GoingBackTwiceIsAnErrorThatSaysWhatToDo) {
  Variable x(filled({2}, 1.0), true);
  const Variable y = add(x, x);
  backward(y);
  try {
    backward(y);
    FAIL() << "no exception";
  } catch (const ArgumentError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("call backward() once"));
  }
}

TEST(Tape, BackwardFromAConstantIsAnError) {
  EXPECT_THROW(backward(Variable(filled({2}, 1.0))), ArgumentError);
}

TEST(Tape, ALongChainIsTakenDownWithoutRecursion) {
  Variable x(filled({1}, 1.0), true);
  Variable y = x;
  for (int i = 0; i < 200000; ++i) {
    y = reshape(y, {1});
  }
  y = Variable();
  EXPECT_FALSE(x.grad_written());
}

TEST(Tape, ExceptionsOfBackwardFunctionsPassThrough) {
  Variable x(filled({1}, 1.0), true);
  const Variable y =
      record_one("bad", {x}, x.data(), {}, [](BackwardContext&) { throw IoError("on purpose"); });
  EXPECT_THROW(backward(y), IoError);
  EXPECT_FALSE(in_backward());
}

}  // namespace
}  // namespace sherd::autograd
