#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "sherd/autograd/functional.hpp"
#include "sherd/models/llama.hpp"
#include "support/reference_case.hpp"

/// Loss and gradients against an independent implementation: RoPE, grouped heads, norms, ties.
namespace sherd::models {
namespace {

using autograd::Recompute;
using test::ReferenceCase;

class LlamaReference : public testing::TestWithParam<std::tuple<const char*, DType>> {
 protected:
  void SetUp() override {
    reference_ = test::load_reference(std::get<0>(GetParam()));
    dtype_ = std::get<1>(GetParam());
  }
  [[nodiscard]] double loss_bound() const { return dtype_ == DType::f64 ? 1e-12 : 2e-6; }
  /// The stored gradients are rounded to f32, so f64 can only agree to about 6e-8 an element.
  [[nodiscard]] double gradient_bound() const { return dtype_ == DType::f64 ? 5e-8 : 1e-5; }

  void load_weights(const nn::Module& model) const {
    const auto parameters = nn::named_parameters(model);
    EXPECT_EQ(parameters.size(), reference_.weights.size());
    for (const nn::NamedParameter& each : parameters) {
      nn::Variable value = each.value;
      value.set_data(to_dtype(reference_.weights.at(each.name), dtype_));
    }
  }
  [[nodiscard]] nn::Variable loss_of(Llama& model) const {
    const nn::Variable logits = model(nn::Variable(reference_.inputs()));
    const auto tokens = static_cast<double>(reference_.batch * reference_.seq);
    return autograd::cross_entropy(logits, reference_.targets(), 1.0 / tokens);
  }

  ReferenceCase reference_;
  DType dtype_ = DType::f32;
};

TEST_P(LlamaReference, LossAndGradientsOfTheFirstStep) {
  Llama model(reference_.config);
  load_weights(model);
  const nn::Variable loss = loss_of(model);
  const double value = *loss.data().data<double>();
  EXPECT_NEAR(value, reference_.loss.front(), loss_bound() * reference_.loss.front());
  autograd::backward(loss);
  for (const nn::NamedParameter& each : nn::named_parameters(model)) {
    const Tensor& expected = reference_.grad_step0.at(each.name);
    EXPECT_LT(test::relative_distance(each.value.grad(), expected), gradient_bound()) << each.name;
  }
}

TEST_P(LlamaReference, CheckpointingGivesTheSameBits) {
  Llama plain(reference_.config);
  load_weights(plain);
  autograd::backward(loss_of(plain));
  const auto expected = nn::named_parameters(plain);
  for (const Recompute mode : {Recompute::reentrant, Recompute::non_reentrant}) {
    Llama model(reference_.config, mode);
    load_weights(model);
    autograd::backward(loss_of(model));
    const auto found = nn::named_parameters(model);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Tensor a = found[i].value.grad();
      const Tensor b = expected[i].value.grad();
      EXPECT_TRUE(std::equal(a.raw(), a.raw() + a.nbytes(), b.raw())) << found[i].name;
    }
  }
}

std::string case_name(const testing::TestParamInfo<std::tuple<const char*, DType>>& info) {
  return std::string(std::get<0>(info.param)) + "_" +
         std::string(to_string(std::get<1>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(Cases, LlamaReference,
                         testing::Combine(testing::Values("llama", "llama_tied"),
                                          testing::Values(DType::f32, DType::f64)),
                         case_name);

}  // namespace
}  // namespace sherd::models
