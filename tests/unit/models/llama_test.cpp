#include "sherd/models/llama.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "sherd/base/error.hpp"
#include "support/grad_check.hpp"

namespace sherd::models {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

LlamaConfig small_config() {
  LlamaConfig config;
  config.vocab_size = 11;
  config.hidden_size = 12;
  config.intermediate_size = 10;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 3;
  config.num_key_value_heads = 1;
  config.max_position_embeddings = 9;
  return config;
}

std::int64_t elements(const nn::Module& model) {
  std::int64_t total = 0;
  for (const nn::NamedParameter& each : nn::named_parameters(model)) {
    total += each.value.data().numel();
  }
  return total;
}

nn::Variable loss_of(Llama& model, Shape shape, double weight = 1.0) {
  const Tensor ids = test::random_ids(shape, 11, 1);
  return autograd::cross_entropy(model(nn::Variable(ids)), test::random_ids(shape, 11, 2), weight);
}

TEST(Llama, NamesItsParametersAsHuggingFaceDoes) {
  LlamaConfig config = small_config();
  config.num_hidden_layers = 1;
  std::vector<std::string> names;
  for (const nn::NamedParameter& each : nn::named_parameters(Llama(config))) {
    names.push_back(each.name);
  }
  EXPECT_THAT(names,
              ElementsAre("embed_tokens.weight", "layers.0.input_layernorm.weight",
                          "layers.0.self_attn.q_proj.weight", "layers.0.self_attn.k_proj.weight",
                          "layers.0.self_attn.v_proj.weight", "layers.0.self_attn.o_proj.weight",
                          "layers.0.post_attention_layernorm.weight",
                          "layers.0.mlp.gate_proj.weight", "layers.0.mlp.up_proj.weight",
                          "layers.0.mlp.down_proj.weight", "norm.weight", "lm_head.weight"));
}

TEST(Llama, ATiedHeadIsAnAliasOfTheEmbedding) {
  LlamaConfig config = small_config();
  config.tie_word_embeddings = true;
  const Llama model(config);
  const auto parameters = nn::named_parameters(model);
  EXPECT_EQ(parameters.front().name, "embed_tokens.weight");
  EXPECT_THAT(parameters.front().aliases, ElementsAre("lm_head.weight"));
}

TEST(Llama, CountsItsParameters) {
  for (int variant = 0; variant < 16; ++variant) {
    LlamaConfig config = small_config();
    config.tie_word_embeddings = (variant & 1) != 0;
    config.attention_bias = (variant & 2) != 0;
    config.mlp_bias = (variant & 4) != 0;
    config.head_dim = (variant & 8) != 0 ? 6 : 0;
    EXPECT_EQ(config.parameter_count(), elements(Llama(config))) << variant;
  }
}

TEST(Llama, InitialWeightsAreAsDocumented) {
  LlamaConfig config = small_config();
  config.initializer_range = 0.5;
  const Llama model(config);
  for (const nn::NamedParameter& each : nn::named_parameters(model)) {
    const nn::InitSpec& init = each.init;
    const bool norm = each.name.find("norm") != std::string::npos;
    const bool residual = each.name.find("o_proj") != std::string::npos ||
                          each.name.find("down_proj") != std::string::npos;
    EXPECT_EQ(init.kind, norm ? nn::InitSpec::Kind::ones : nn::InitSpec::Kind::normal) << each.name;
    EXPECT_DOUBLE_EQ(init.scale, norm ? 1.0 : residual ? 0.5 / std::sqrt(4.0) : 0.5) << each.name;
  }
}

TEST(Llama, ComputesInTheTypeOfItsParameters) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
    Llama model(small_config());
    nn::materialize(model, 1, dtype);
    const nn::Variable logits = model(nn::Variable(test::random_ids({2, 5}, 11, 1)));
    EXPECT_EQ(logits.dtype(), dtype);
    EXPECT_EQ(logits.shape(), (Shape{2, 5, 11}));
  }
}

TEST(Llama, HalfPrecisionStaysCloseToDouble) {
  Llama exact(small_config());
  nn::materialize(exact, 1, DType::f64);
  const double a = *loss_of(exact, {2, 5}).data().data<double>();
  for (const auto& [dtype, bound] : {std::pair{DType::bf16, 0.01}, std::pair{DType::f16, 0.001}}) {
    Llama half(small_config());
    nn::materialize(half, 1, dtype);
    EXPECT_NEAR(*loss_of(half, {2, 5}).data().data<double>(), a, bound * a);
  }
}

/// A step in f16: with the loss scaled up, gradients that f16 alone would lose come out as in f64.
TEST(Llama, ScaledF16GradientsAreThoseOfDouble) {
  Llama exact(small_config());
  Llama half(small_config());
  nn::materialize(exact, 1, DType::f64);
  nn::materialize(half, 1, DType::f16);
  constexpr double kWeight = 1e-6;  // of the loss
  constexpr double kScale = 0x1p20;
  autograd::backward(loss_of(exact, {2, 5}, kWeight));
  autograd::backward(loss_of(half, {2, 5}, kWeight * kScale));
  const auto wanted = nn::named_parameters(exact);
  const auto found = nn::named_parameters(half);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(found[i].value.grad().dtype(), DType::f32);
    const Tensor got = to_dtype(found[i].value.grad(), DType::f64);
    const auto expected = wanted[i].value.grad().span<double>();
    double largest = 0;
    for (const double each : expected) {
      largest = std::max(largest, std::abs(each));
    }
    for (std::size_t j = 0; j < expected.size(); ++j) {
      ASSERT_NEAR(got.span<double>()[j] / kScale, expected[j], 0.02 * largest) << wanted[i].name;
    }
  }
}

TEST(Llama, ALaterTokenNeverChangesAnEarlierResult) {
  Llama model(small_config());
  nn::materialize(model, 1);
  const Tensor ids = test::random_ids({1, 6}, 11, 1);
  const Tensor before = model(nn::Variable(ids)).data();
  ids.span<std::int32_t>()[4] = (ids.span<std::int32_t>()[4] + 1) % 11;
  const Tensor after = model(nn::Variable(ids)).data();
  const auto a = before.span<float>();
  const auto b = after.span<float>();
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 4 * 11, b.begin()));
  EXPECT_FALSE(std::equal(a.begin() + 4 * 11, a.begin() + 5 * 11, b.begin() + 4 * 11));
}

TEST(Llama, LongerSequencesAfterShorterOnesAndBack) {
  Llama model(small_config());
  nn::materialize(model, 1);
  const double alone = *loss_of(model, {1, 3}).data().data<double>();
  const nn::Variable pending = loss_of(model, {1, 3});
  (void)loss_of(model, {1, 9});
  autograd::backward(pending);
  EXPECT_EQ(*loss_of(model, {1, 3}).data().data<double>(), alone);
}

/// Every option at once, against central differences: biases go through another path.
TEST(Llama, GradientsWithBiasesAndAnExplicitHeadDimension) {
  LlamaConfig config = small_config();
  config.attention_bias = true;
  config.mlp_bias = true;
  config.head_dim = 6;
  config.tie_word_embeddings = true;
  config.initializer_range = 0.4;
  Llama model(config);
  nn::materialize(model, 1, DType::f64);
  autograd::backward(loss_of(model, {2, 4}));
  for (const nn::NamedParameter& each : nn::named_parameters(model)) {
    const nn::Variable& value = each.value;
    double& element = value.data().span<double>()[1];
    const double original = element;
    const auto loss_at = [&](double x) {
      const autograd::GradMode off(false);
      element = x;
      return *loss_of(model, {2, 4}).data().data<double>();
    };
    const double slope = (loss_at(original + 1e-5) - loss_at(original - 1e-5)) / 2e-5;
    element = original;
    ASSERT_TRUE(value.grad_written()) << each.name;
    EXPECT_NEAR(value.grad().span<double>()[1], slope, 1e-7 * (1.0 + std::abs(slope))) << each.name;
  }
}

TEST(Llama, HooksOnAProjectionRunAndChangeNothing) {
  Llama plain(small_config());
  Llama hooked(small_config());
  nn::materialize(plain, 1);
  nn::materialize(hooked, 1);
  int calls = 0;
  for (const auto& [name, module] : nn::named_modules(hooked)) {
    if (name == "layers.0.self_attn.k_proj" || name == "layers.1.mlp.up_proj") {
      module->set_hooks(
          {.before = [&calls](nn::Module&, const nn::Variable& x) { return ++calls, x; },
           .after = {}});
    }
  }
  EXPECT_EQ(*loss_of(hooked, {2, 5}).data().data<double>(),
            *loss_of(plain, {2, 5}).data().data<double>());
  EXPECT_EQ(calls, 2);
}

TEST(Llama, NoSequencesGiveZeroGradients) {
  Llama model(small_config());
  nn::materialize(model, 1);
  autograd::backward(loss_of(model, {0, 5}));
  for (const nn::NamedParameter& each : nn::named_parameters(model)) {
    ASSERT_TRUE(each.value.grad_written()) << each.name;
    EXPECT_THAT(each.value.grad().span<float>(), testing::Each(0.0F)) << each.name;
  }
}

TEST(Llama, RefusesIdsItHasNoPlaceFor) {
  Llama model(small_config());
  nn::materialize(model, 1);
  EXPECT_THROW((void)model(nn::Variable(test::random_ids({1, 10}, 11, 1))), ArgumentError);
  EXPECT_THROW((void)model(nn::Variable(test::random_ids({4}, 11, 1))), ArgumentError);
}

struct BadField {
  const char* name;
  void (*spoil)(LlamaConfig&);
};

TEST(LlamaConfig, NamesTheFieldThatMakesNoSense) {
  const BadField fields[] = {
      {"vocab_size", [](LlamaConfig& c) { c.vocab_size = 0; }},
      {"num_hidden_layers", [](LlamaConfig& c) { c.num_hidden_layers = -1; }},
      {"num_key_value_heads", [](LlamaConfig& c) { c.num_key_value_heads = 2; }},
      {"hidden_size", [](LlamaConfig& c) { c.hidden_size = 13; }},
      {"head_dim", [](LlamaConfig& c) { c.head_dim = 5; }},
      {"rms_norm_eps", [](LlamaConfig& c) { c.rms_norm_eps = 0.0; }},
      {"rope_theta", [](LlamaConfig& c) { c.rope_theta = -1.0; }},
      {"initializer_range", [](LlamaConfig& c) { c.initializer_range = -0.1; }},
  };
  for (const BadField& field : fields) {
    LlamaConfig config = small_config();
    field.spoil(config);
    try {
      config.check();
      ADD_FAILURE() << field.name << " was accepted";
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string("model.") + field.name));
      EXPECT_THAT(error.what(), HasSubstr("Try:"));
    }
  }
}

}  // namespace
}  // namespace sherd::models
