#include <gtest/gtest.h>

#include <cmath>

#include "sherd/base/error.hpp"
#include "support/grad_check.hpp"

/// Parameters may lie elsewhere in backward than they did in forward: gathered, given back,
/// gathered again. Nothing may remember the old place.
namespace sherd::autograd {
namespace {

using test::random_ids;
using test::random_tensor;
using test::same_bits;

class MovedParameter : public testing::TestWithParam<int> {
 protected:
  Variable forward() {
    const Variable h = rms_norm(embedding(table_, ids_), scale_, 1e-5);
    const auto halves = linear_multi(h, std::vector<Variable>{gate_, up_});
    return linear(swiglu(halves[0], halves[1]), down_, bias_);
  }
  Variable checkpointed() {
    if (GetParam() == 0) {
      return forward();
    }
    const auto mode = GetParam() == 1 ? Recompute::reentrant : Recompute::non_reentrant;
    return checkpoint([this](const Variable&) { return forward(); }, input_, mode);
  }
  std::vector<Tensor> gradients() {
    std::vector<Tensor> result;
    for (Variable* parameter : all_) {
      result.push_back(parameter->grad());
      parameter->clear_grad();
    }
    return result;
  }
  void move_parameters() {
    for (Variable* parameter : all_) {
      const Tensor old = parameter->data();
      parameter->set_data(old.clone());
      for (double& value : old.span<double>()) {
        value = std::nan("");
      }
    }
  }

  Tensor ids_ = random_ids({3, 5}, 7, 1);
  Variable input_{random_tensor({1}, 1), true};
  Variable table_{random_tensor({7, 6}, 2), true};
  Variable scale_{random_tensor({6}, 3), true};
  Variable gate_{random_tensor({9, 6}, 4), true};
  Variable up_{random_tensor({9, 6}, 5), true};
  Variable down_{random_tensor({4, 9}, 6), true};
  Variable bias_{random_tensor({4}, 7), true};
  std::vector<Variable*> all_{&table_, &scale_, &gate_, &up_, &down_, &bias_};
};

TEST_P(MovedParameter, GivesTheSameGradients) {
  const Tensor direction = random_tensor({3, 5, 4}, 8);
  backward(forward(), direction.clone());
  const std::vector<Tensor> expected = gradients();
  const Variable result = checkpointed();
  move_parameters();
  backward(result, direction.clone());
  const std::vector<Tensor> moved = gradients();
  for (std::size_t i = 0; i < moved.size(); ++i) {
    EXPECT_TRUE(same_bits(moved[i], expected[i])) << "parameter " << i;
  }
}

TEST_P(MovedParameter, ThatIsGoneIsAnError) {
  const Variable result = checkpointed();
  down_.set_data(Tensor::meta(down_.shape(), down_.dtype()));
  EXPECT_THROW(backward(result), ArgumentError);
}

INSTANTIATE_TEST_SUITE_P(Checkpointing, MovedParameter, testing::Values(0, 1, 2));

}  // namespace
}  // namespace sherd::autograd
