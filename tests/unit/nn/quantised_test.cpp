#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sherd/base/error.hpp"
#include "support/grad_check.hpp"
#include "unit/nn/quantised_linear.hpp"

namespace sherd::nn {
namespace {

using autograd::Recompute;
using test::QuantisedLinear;
using test::random_tensor;
using testing::ElementsAre;

TEST(QuantisedParameters, AreNamedInOrderAndNeverWantAGradient) {
  const QuantisedLinear layer(16, 3);
  std::vector<std::string> names;
  for (const NamedParameter& each : named_parameters(layer)) {
    names.push_back(each.name);
    EXPECT_TRUE(each.value.data().is_meta());
    EXPECT_EQ(each.value.requires_grad(), each.name != "payload");
  }
  EXPECT_THAT(names, ElementsAre("payload", "scales", "bias"));
  Variable payload = layer.parameters()[0].second.value;
  EXPECT_EQ(payload.dtype(), DType::u8);
  EXPECT_EQ(payload.data().nbytes(), 48U);
  EXPECT_THROW(payload.set_requires_grad(true), ArgumentError);
}

TEST(QuantisedParameters, StartAsZerosOfTheirOwnType) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    const QuantisedLinear layer(8, 2);
    materialize(layer, 5, dtype);
    const auto parameters = named_parameters(layer);
    const Tensor payload = parameters[0].value.data();
    EXPECT_EQ(payload.dtype(), DType::u8);
    EXPECT_THAT(
        std::vector<int>(payload.span<std::uint8_t>().begin(), payload.span<std::uint8_t>().end()),
        testing::Each(0));
    EXPECT_EQ(parameters[1].value.dtype(), dtype);
  }
}

TEST(QuantisedParameters, ForwardIsThatOfTheWeightWithinHalfAStep) {
  const Tensor weight = random_tensor({3, 16}, 1, DType::f32);
  QuantisedLinear layer(16, 3);
  materialize(layer, 1);
  layer.set(test::quantise(weight));
  const Variable x(random_tensor({4, 16}, 2, DType::f32));
  const Variable found = layer(x);
  const Variable expected = autograd::linear(x, Variable(weight));
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_NEAR(found.data().span<float>()[i], expected.data().span<float>()[i], 16 * 0.5 / 127);
  }
  EXPECT_FALSE(test::same_bits(found.data(), expected.data()));
}

TEST(QuantisedParameters, GradientsOfTheScalesAgreeWithDifferences) {
  const auto quantised = test::quantise(random_tensor({3, 16}, 1, DType::f32));
  const Variable payload(quantised.payload);
  test::check_gradients(
      [&payload](const std::vector<Variable>& in) {
        return autograd::linear(in[0], test::dequantise(payload, in[1]));
      },
      {random_tensor({4, 16}, 2), to_dtype(quantised.scales, DType::f64)});
}

TEST(QuantisedParameters, RecomputedGradientsAreTheSameBits) {
  QuantisedLinear layer(8, 8);
  materialize(layer, 1, DType::bf16);
  layer.set(test::quantise(random_tensor({8, 8}, 1, DType::f32)));
  Variable x(random_tensor({4, 8}, 2, DType::bf16), true);
  const auto gradients = [&](std::optional<Recompute> mode) {
    const auto body = [&layer](const Variable& in) { return layer(layer(in)); };
    const Variable y = mode ? autograd::checkpoint(body, x, *mode) : body(x);
    autograd::backward(y, random_tensor({4, 8}, 3, DType::bf16));
    std::vector<Tensor> result{x.grad()};
    x.clear_grad();
    for (const auto& [name, parameter] : layer.parameters()) {
      Variable value = parameter.value;
      EXPECT_EQ(value.grad_written(), name != "payload");
      if (value.grad_written()) {
        result.push_back(value.grad());
        value.clear_grad();
      }
    }
    return result;
  };
  const auto expected = gradients(std::nullopt);
  ASSERT_EQ(expected.size(), 3U);
  for (const Recompute mode : {Recompute::reentrant, Recompute::non_reentrant}) {
    const auto found = gradients(mode);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(test::same_bits(found[i], expected[i])) << i;
    }
  }
}

/// As under an engine that gives gathered parameters back: nothing may keep the old bytes.
TEST(QuantisedParameters, MayLieElsewhereInBackward) {
  const auto quantised = test::quantise(random_tensor({3, 8}, 1, DType::f32));
  const auto gradient = [&quantised](bool move) {
    QuantisedLinear layer(8, 3);
    materialize(layer, 1);
    layer.set({quantised.payload.clone(), quantised.scales});
    const Variable y = layer(Variable(random_tensor({2, 8}, 2, DType::f32)));
    Variable payload = layer.parameters()[0].second.value;
    if (move) {
      const Tensor old = payload.data();
      payload.set_data(old.clone());
      old.fill_zero();
    }
    autograd::backward(y, random_tensor({2, 3}, 3, DType::f32));
    return layer.parameters()[1].second.value.grad();
  };
  EXPECT_TRUE(test::same_bits(gradient(true), gradient(false)));
}

/// A module that asks for initial values bytes cannot have.
class RandomBytes : public Module {
 public:
  RandomBytes() { (void)register_parameter("bytes", {4}, InitSpec::normal(1.0), DType::u8); }
  Variable forward(const Variable& x) override { return x; }
};

TEST(QuantisedParameters, OnlyZerosCanBeTheirInitialValues) {
  EXPECT_THROW(RandomBytes(), ArgumentError);
  for (const DType dtype : {DType::u8, DType::u16, DType::i32, DType::i64}) {
    const Tensor out = Tensor::empty({5}, dtype);
    std::fill(out.raw(), out.raw() + out.nbytes(), std::byte{1});
    EXPECT_THROW(fill_initial(InitSpec::ones(), 1, "w", 0, out), ArgumentError);
    fill_initial(InitSpec::zeros(), 1, "w", 7, out);
    EXPECT_TRUE(std::all_of(out.raw(), out.raw() + out.nbytes(),
                            [](std::byte each) { return each == std::byte{0}; }));
  }
}

}  // namespace
}  // namespace sherd::nn
