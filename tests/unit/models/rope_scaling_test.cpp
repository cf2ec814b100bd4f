#include "models/llama/rope_scaling.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "sherd/base/error.hpp"
#include "sherd/models/llama_hf.hpp"
#include "sherd/tensor/kernel/rope.hpp"
#include "support/grad_check.hpp"
#include "support/temp_folder.hpp"

namespace sherd::models {
namespace {

using test::message_of;
using testing::AllOf;
using testing::HasSubstr;

constexpr RopeScaling kLlama31{8.0, 1.0, 4.0, 8192};
constexpr RopeScaling kLlama32{32.0, 1.0, 4.0, 8192};

struct Expected {
  std::size_t pair;
  double frequency;
};

void expect_frequencies(std::int64_t head_dim, const RopeScaling& scaling,
                        const std::vector<Expected>& expected) {
  const auto frequencies = scaled_frequencies(head_dim, 500000.0, scaling);
  ASSERT_EQ(frequencies.size(), static_cast<std::size_t>(head_dim / 2));
  for (const Expected& each : expected) {
    EXPECT_NEAR(frequencies[each.pair] / each.frequency, 1.0, 1e-13) << "pair " << each.pair;
  }
}

/// Computed from the definition with 50 decimals: kept up to pair 28, stretched from 35 on.
TEST(RopeScaling, FrequenciesOfLlama31) {
  expect_frequencies(128, kLlama31,
                     {{0, 1.0},
                      {1, 0.81461723385654472},
                      {20, 0.016560440080994446},
                      {28, 0.0032114459947525909},
                      {29, 0.0021665707635033587},
                      {30, 0.0013718935677611381},
                      {32, 0.00052484616099295468},
                      {34, 0.00017850781276799641},
                      {35, 9.5562123539646833e-05},
                      {63, 3.0689259889145111e-07}});
}

TEST(RopeScaling, FrequenciesOfLlama32) {
  expect_frequencies(64, kLlama32,
                     {{14, 0.0032114459947525909},
                      {15, 0.0012905479282092638},
                      {16, 0.00042955679655936821},
                      {17, 9.7082878026276729e-05},
                      {18, 1.9461638184831125e-05},
                      {31, 9.41830672543491e-08}});
}

TEST(RopeScaling, WithoutAFactorNothingChanges) {
  EXPECT_EQ(scaled_frequencies(128, 500000.0, {1.0, 3.0, 5.0, 7}),
            kernel::rope_frequencies(128, 500000.0));
}

LlamaConfig small_config() {
  LlamaConfig config;
  config.vocab_size = 11;
  config.hidden_size = 12;
  config.intermediate_size = 10;
  config.num_hidden_layers = 1;
  config.num_attention_heads = 3;
  config.num_key_value_heads = 1;
  return config;
}

std::vector<double> logits_of(const LlamaConfig& config) {
  Llama model(config);
  nn::materialize(model, 1, DType::f64);
  const nn::Variable logits = model(nn::Variable(test::random_ids({1, 9}, 11, 1)));
  const auto values = logits.data().span<double>();
  return {values.begin(), values.end()};
}

TEST(RopeScaling, ReachesTheModel) {
  LlamaConfig config = small_config();
  const auto plain = logits_of(config);
  config.rope_scaling = {2.0, 1.0, 4.0, 16};
  const auto scaled = logits_of(config);
  EXPECT_NE(scaled, plain);
  config.rope_scaling.factor = 1.0;
  EXPECT_EQ(logits_of(config), plain);
  config.rope_scaling = {2.0, 3.0, 4.0, 16};  // all wavelengths stretched
  EXPECT_NE(logits_of(config), scaled);
}

const nlohmann::json kInFile = {{"rope_type", "llama3"},
                                {"factor", 8.0},
                                {"low_freq_factor", 1.0},
                                {"high_freq_factor", 4.0},
                                {"original_max_position_embeddings", 8192}};

nlohmann::json json_of(const LlamaConfig& config) {
  return nlohmann::json::parse(to_hf_config(config));
}

std::string problem(const char* key, const nlohmann::json& rope) {
  auto json = json_of(small_config());
  json[key] = rope;
  return message_of<ConfigError>([&] { (void)parse_hf_config(json.dump(), "config.json"); });
}

void expect_llama31(const RopeScaling& scaling) {
  EXPECT_EQ(scaling.factor, 8.0);
  EXPECT_EQ(scaling.low_freq_factor, 1.0);
  EXPECT_EQ(scaling.high_freq_factor, 4.0);
  EXPECT_EQ(scaling.original_max_position_embeddings, 8192);
}

TEST(RopeScaling, IsReadInBothSpellingsAndWritten) {
  auto json = json_of(small_config());
  EXPECT_TRUE(json["rope_scaling"].is_null());
  json["rope_scaling"] = kInFile;
  const LlamaConfig read = parse_hf_config(json.dump(), "");
  expect_llama31(read.rope_scaling);
  EXPECT_EQ(json_of(read)["rope_scaling"], kInFile);
  expect_llama31(parse_hf_config(to_hf_config(read), "").rope_scaling);

  json.erase("rope_scaling");
  json.erase("rope_theta");
  json["rope_parameters"] = kInFile;
  json["rope_parameters"]["rope_theta"] = 500000.0;
  expect_llama31(parse_hf_config(json.dump(), "").rope_scaling);
  EXPECT_EQ(parse_hf_config(json.dump(), "").rope_theta, 500000.0);
}

TEST(RopeScaling, OtherKindsAreRefusedWithWhatToDo) {
  for (const char* kind : {"linear", "dynamic", "yarn", "longrope", "mrope"}) {
    EXPECT_THAT(problem("rope_scaling", {{"type", kind}, {"factor", 2.0}}),
                AllOf(HasSubstr("config.json: rope_scaling.type: \"" + std::string(kind) +
                                "\" is not supported"),
                      HasSubstr("Try: ")));
    EXPECT_THAT(problem("rope_parameters", {{"rope_type", kind}, {"factor", 2.0}}),
                HasSubstr("config.json: rope_parameters.rope_type: \"" + std::string(kind)));
  }
  EXPECT_EQ(problem("rope_scaling", {{"rope_type", "default"}}), "");
}

TEST(RopeScaling, NumbersThatAreMissingOrMakeNoSenseAreNamed) {
  for (const char* key :
       {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
    auto rope = kInFile;
    rope.erase(key);
    EXPECT_THAT(problem("rope_scaling", rope), HasSubstr("rope_scaling." + std::string(key)));
    rope[key] = "8";
    EXPECT_THAT(problem("rope_scaling", rope), HasSubstr("rope_scaling." + std::string(key)));
    rope[key] = 0;
    EXPECT_THAT(problem("rope_scaling", rope),
                AllOf(HasSubstr("model.rope_scaling."), HasSubstr(key), HasSubstr("Try: ")));
  }
  auto rope = kInFile;
  rope["high_freq_factor"] = 1.0;
  EXPECT_THAT(problem("rope_scaling", rope), HasSubstr("and high_freq_factor 1"));
}

}  // namespace
}  // namespace sherd::models
