// The second family's operation against differences, and its planned step against a real one.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "family.hpp"
#include "layer_norm.hpp"
#include "sherd/autograd/functional.hpp"
#include "sherd/plan/activations.hpp"
#include "sherd/tensor/memory_stats.hpp"

namespace sherd::second_family {
namespace {

using autograd::Recompute;
using nn::Variable;

Tensor random(Shape shape, unsigned seed) {
  const Tensor values = Tensor::empty(std::move(shape), DType::f32);
  std::mt19937 engine(seed);
  for (float& value : values.span<float>()) {
    value = static_cast<float>(engine() >> 8) * 0x1p-23F - 1.0F;
  }
  return values;
}

TEST(LayerNorm, GradientsAreThoseOfDifferences) {
  LayerNorm norm(7, 1e-5);
  nn::materialize(norm, 1);
  std::vector<Variable> inputs{Variable(random({5, 7}, 1), true)};
  for (const nn::NamedParameter& parameter : nn::named_parameters(norm)) {
    inputs.push_back(parameter.value);
    inputs.back().set_data(random(parameter.value.shape(), 2));
  }
  const Tensor target = random({5, 7}, 3);
  const auto loss = [&] { return autograd::squared_error(norm(inputs[0]), target, 1.0); };
  autograd::backward(loss());
  for (const Variable& input : inputs) {
    for (std::int64_t i = 0; i < input.data().numel(); ++i) {
      float& x = input.data().data<float>()[i];
      const float before = x;
      const float step = 1e-2F;
      x = before + step;
      const double above = *loss().data().data<double>();
      x = before - step;
      const double below = *loss().data().data<double>();
      x = before;
      EXPECT_NEAR(input.grad().data<float>()[i], (above - below) / (2.0 * double(step)), 2e-2);
    }
  }
}

std::size_t measured_on_host(const plan::ActivationInput& input) {
  const auto net = input.model.make(input.checkpointing);
  nn::materialize(*net, 1, input.dtype);
  const auto step = [&](std::int64_t sequences, std::int64_t length) {
    const Tensor ids = Tensor::zeros({sequences, length}, DType::i32);
    const Tensor targets = Tensor::zeros({sequences, length}, DType::i32);
    const Variable loss = autograd::cross_entropy((*net)(Variable(ids)), targets, 1.0);
    autograd::backward(loss);
  };
  step(1, 1);  // makes the gradients
  const std::size_t before = memory_stats().live_bytes;
  reset_peak_bytes();
  step(input.sequences, input.sequence_length);
  return memory_stats().peak_bytes - before;
}

TEST(SecondFamily, PlannedBytesAreThoseOfAStep) {
  const models::ModelFamily family = make_family();
  const models::ModelSpec model(family, family.defaults());
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const auto mode : {std::optional<Recompute>(), std::optional(Recompute::reentrant),
                            std::optional(Recompute::non_reentrant)}) {
      const bool native =
          kernel::matmul_implementation(DType::bf16).find("through") == std::string::npos;
      const plan::ActivationInput input{model, 3, 20, dtype, mode, native};
      const plan::ActivationPlan plan = plan::plan_activations(input);
      EXPECT_EQ(plan.peak, measured_on_host(input))
          << plan.peak_at << " " << to_string(dtype) << " mode " << (mode ? int(*mode) : -1);
      EXPECT_EQ(plan.block_bytes + plan.recomputed_bytes, plan.block.front().bytes);
    }
  }
}

}  // namespace
}  // namespace sherd::second_family
