#include <gtest/gtest.h>

#include <optional>

#include "sherd/base/error.hpp"
#include "sherd/tensor/kernel/matmul.hpp"
#include "support/grad_check.hpp"

namespace sherd::autograd {
namespace {

using test::random_tensor;
using test::same_bits;

/// A residual block as transformers have them: x + down(swiglu(gate(norm x), up(norm x))).
class Checkpoint : public testing::TestWithParam<DType> {
 protected:
  Variable parameter(Shape shape, std::uint64_t seed) {
    return Variable(random_tensor(std::move(shape), seed, GetParam()), true);
  }
  [[nodiscard]] Variable body(const Variable& x) const {
    ++bodies_run_;
    const Variable h = rms_norm(x, scale_, 1e-5);
    const auto halves = linear_multi(h, std::vector<Variable>{gate_, up_});
    return add(x, linear(swiglu(halves[0], halves[1]), down_));
  }
  [[nodiscard]] Variable run(const Variable& x, std::optional<Recompute> mode) const {
    if (!mode) {
      return body(x);
    }
    return checkpoint([this](const Variable& in) { return body(in); }, x, *mode);
  }
  std::vector<Tensor> take_gradients() {
    std::vector<Tensor> result;
    for (Variable* each : std::vector<Variable*>{&x_, &scale_, &gate_, &up_, &down_}) {
      result.push_back(each->grad());
      each->clear_grad();
    }
    return result;
  }
  /// Gradients of two blocks in a row, after an operation, so that blocks' inputs are no leaves.
  std::vector<Tensor> gradients(std::optional<Recompute> mode) {
    const Variable start = activation(kernel::Activation::tanh, x_);
    backward(run(run(start, mode), mode), direction_.clone());
    return take_gradients();
  }
  void expect_equal(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_TRUE(same_bits(a[i], b[i])) << "gradient " << i;
    }
  }

  mutable int bodies_run_ = 0;
  Variable x_ = parameter({2, 3, 6}, 1);
  Variable scale_ = parameter({6}, 2);
  Variable gate_ = parameter({10, 6}, 3);
  Variable up_ = parameter({10, 6}, 4);
  Variable down_ = parameter({6, 10}, 5);
  Tensor direction_ = random_tensor({2, 3, 6}, 6, GetParam());
};

TEST_P(Checkpoint, GradientsAreTheSameBits) {
  const auto expected = gradients(std::nullopt);
  expect_equal(gradients(Recompute::reentrant), expected);
  expect_equal(gradients(Recompute::non_reentrant), expected);
}

TEST_P(Checkpoint, RunsEachBodyTwice) {
  (void)gradients(Recompute::reentrant);
  EXPECT_EQ(bodies_run_, 4);
  (void)gradients(Recompute::non_reentrant);
  EXPECT_EQ(bodies_run_, 8);
}

/// Products in one backward through one block.
std::size_t products(const std::function<void()>& work) {
  std::vector<kernel::MatmulRecord> records;
  auto* const previous = kernel::record_matmuls(&records);
  work();
  kernel::record_matmuls(previous);
  return records.size();
}

TEST_P(Checkpoint, NonReentrantSkipsTheLastProduct) {
  const auto count = [this](std::optional<Recompute> mode) {
    const Variable y = run(x_, mode);
    return products([&] { backward(y, direction_.clone()); });
  };
  EXPECT_EQ(count(std::nullopt), 6U);
  EXPECT_EQ(count(Recompute::reentrant), 9U);
  EXPECT_EQ(count(Recompute::non_reentrant), 8U);
}

TEST_P(Checkpoint, AFrozenInputStillTrainsTheParametersInside) {
  x_.set_requires_grad(false);
  backward(run(x_, std::nullopt), direction_.clone());
  const auto expected = take_gradients();
  for (const Recompute mode : {Recompute::reentrant, Recompute::non_reentrant}) {
    backward(run(x_, mode), direction_.clone());
    const auto found = take_gradients();
    EXPECT_FALSE(found[0].defined());
    expect_equal({found.begin() + 1, found.end()}, {expected.begin() + 1, expected.end()});
  }
}

TEST_P(Checkpoint, BodiesMayNest) {
  const auto expected = gradients(std::nullopt);
  for (const Recompute outer : {Recompute::reentrant, Recompute::non_reentrant}) {
    for (const Recompute inner : {Recompute::reentrant, Recompute::non_reentrant}) {
      const Variable start = activation(kernel::Activation::tanh, x_);
      const auto both = [&](const Variable& in) { return run(run(in, inner), inner); };
      backward(checkpoint(both, start, outer), direction_.clone());
      expect_equal(take_gradients(), expected);
    }
  }
}

TEST_P(Checkpoint, KeepsNothingThatTheBodySaved) {
  for (const Recompute mode : {Recompute::reentrant, Recompute::non_reentrant}) {
    Tensor inside;
    const auto watched = [&](const Variable& x) {
      const Variable h = rms_norm(x, scale_, 1e-5);
      inside = h.data();
      return linear(h, gate_);
    };
    const Variable y = checkpoint(watched, x_, mode);
    EXPECT_FALSE(inside.shares_storage());
    backward(y);
    EXPECT_FALSE(inside.shares_storage());
    (void)take_gradients();
  }
}

TEST_P(Checkpoint, RecomputedTensorsDieOneByOne) {
  for (const Recompute mode : {Recompute::reentrant, Recompute::non_reentrant}) {
    Tensor inside;
    bool freed = false;
    const auto body = [&](const Variable& x) {
      const Variable first =
          record_one("watch", {x}, x.data(), {x.data()}, [&](BackwardContext& context) {
            freed = !inside.shares_storage();
            context.pass(0, context.grad_output(0));
          });
      const Variable h = rms_norm(first, scale_, 1e-5);
      inside = h.data();
      return linear(h, gate_);
    };
    backward(checkpoint(body, activation(kernel::Activation::tanh, x_), mode));
    EXPECT_TRUE(freed);
    (void)take_gradients();
  }
}

TEST_P(Checkpoint, IsTheBodyAloneWhileNothingIsRecorded) {
  const GradMode off(false);
  for (const Recompute mode : {Recompute::reentrant, Recompute::non_reentrant}) {
    EXPECT_FALSE(run(x_, mode).requires_grad());
  }
  EXPECT_EQ(bodies_run_, 2);
}

TEST_P(Checkpoint, ReentrantRefusesResultsRecordedOutside) {
  const Variable outside = activation(kernel::Activation::tanh, x_);
  const auto uses_it = [&](const Variable& in) { return add(in, outside); };
  EXPECT_THROW(backward(checkpoint(uses_it, x_, Recompute::reentrant)), ArgumentError);
}

TEST_P(Checkpoint, NonReentrantMayUseResultsRecordedOutside) {
  const auto squared = [&](const Variable& other) {
    return [this, other](const Variable& in) { return add(body(in), swiglu(in, other)); };
  };
  backward(squared(activation(kernel::Activation::tanh, x_))(x_), direction_.clone());
  const auto expected = take_gradients();
  const Variable outside = activation(kernel::Activation::tanh, x_);
  backward(checkpoint(squared(outside), x_, Recompute::non_reentrant), direction_.clone());
  expect_equal(take_gradients(), expected);
}

TEST_P(Checkpoint, ABodyThatChangesItsMindIsAnError) {
  bool again = false;
  const auto fickle = [&](const Variable& in) {
    return std::exchange(again, true) ? add(in, in) : body(in);
  };
  EXPECT_THROW(backward(checkpoint(fickle, x_, Recompute::non_reentrant)), ArgumentError);
}

INSTANTIATE_TEST_SUITE_P(Types, Checkpoint,
                         testing::Values(DType::f32, DType::bf16, DType::f16, DType::f64));

}  // namespace
}  // namespace sherd::autograd
