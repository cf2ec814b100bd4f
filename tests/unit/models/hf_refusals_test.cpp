#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "sherd/base/error.hpp"
#include "sherd/models/llama_hf.hpp"
#include "support/temp_folder.hpp"

namespace sherd::models {
namespace {

using test::message_of;
using testing::AllOf;
using testing::HasSubstr;

nlohmann::json small_config() {
  LlamaConfig config;
  config.hidden_size = 32;
  config.intermediate_size = 48;
  config.num_hidden_layers = 2;
  config.num_key_value_heads = 2;
  return nlohmann::json::parse(to_hf_config(config));
}

std::string problem(const nlohmann::json& json) {
  return message_of<ConfigError>([&] { (void)parse_hf_config(json.dump(), "config.json"); });
}

TEST(HfRefusals, KeysThatChangeTheArithmeticAreRefusedALineEach) {
  const std::vector<std::pair<const char*, nlohmann::json>> cases = {
      {"sliding_window", 16},
      {"layer_types", {"full_attention", "sliding_attention"}},
      {"attention_chunk_size", 8192},
      {"num_local_experts", 8},
      {"num_experts", 64},
      {"partial_rotary_factor", 0.5},
      {"rope_parameters", {{"rope_type", "default"}, {"partial_rotary_factor", 0.5}}},
      {"rope_scaling", {{"factor", 8.0}}},
      {"rope_parameters", {{"full_attention", {{"rope_type", "default"}}}}},
      {"no_rope_layers", {1, 0}},
      {"attention_multiplier", 0.0078125},
      {"residual_multiplier", 0.22},
      {"embedding_multiplier", 12.0},
      {"logits_scaling", 8.0},
      {"attn_logit_softcapping", 50.0},
      {"final_logit_softcapping", 30.0},
      {"query_pre_attn_scalar", 256},
      {"is_causal", false},
      {"attention_dropout", 0.1},
      {"quantization_config", {{"quant_method", "fp8"}}}};
  for (const auto& [key, value] : cases) {
    auto json = small_config();
    json[key] = value;
    EXPECT_THAT(problem(json), AllOf(testing::StartsWith(std::string("config.json: ") + key),
                                     HasSubstr("Try: "), testing::Not(HasSubstr("\n"))));
  }
  auto json = small_config();
  json["residual_multiplier"] = 0.22;
  json["logits_scaling"] = 8.0;
  EXPECT_THAT(problem(json),
              AllOf(HasSubstr("config.json: residual_multiplier: 0.22 is not supported"),
                    HasSubstr("\nconfig.json: logits_scaling: 8.0 is not supported")));
}

TEST(HfRefusals, HarmlessValuesAndUnknownKeysPass) {
  auto json = small_config();
  json["sliding_window"] = 4096;
  json["use_sliding_window"] = false;
  json["layer_types"] = {"full_attention", "full_attention"};
  json["num_local_experts"] = 0;
  json["partial_rotary_factor"] = 1.0;
  json["attention_multiplier"] = 1.0 / std::sqrt(8.0);
  json["query_pre_attn_scalar"] = 8;
  json["logits_scaling"] = 1;
  json["final_logit_softcapping"] = nullptr;
  json["quantization_config"] = nullptr;
  json["attention_dropout"] = 0.0;
  json["pretraining_tp"] = 2;
  json["use_cache"] = true;
  json["eos_token_id"] = {1, 2};
  EXPECT_EQ(problem(json), "");
  json.erase("use_sliding_window");
  json["sliding_window"] = json["max_position_embeddings"];
  EXPECT_EQ(problem(json), "");
}

TEST(HfRefusals, PlansTakeOtherArithmeticButNotOtherSizes) {
  const auto plan_problem = [](const nlohmann::json& json) {
    return message_of<ConfigError>([&] { (void)parse_hf_sizes(json.dump(), "c"); });
  };
  auto json = small_config();
  json["sliding_window"] = 16;
  json["quantization_config"] = {{"quant_method", "fp8"}};
  EXPECT_EQ(plan_problem(json), "");
  json["num_local_experts"] = 8;
  EXPECT_THAT(plan_problem(json), HasSubstr("num_local_experts"));
}

TEST(HfRefusals, SizesThatNoMachineHoldsAreRefusedWithWhatTheyWouldTake) {
  const auto with = [](const char* key, const nlohmann::json& value) {
    auto json = small_config();
    json.erase("head_dim");
    json[key] = value;
    return problem(json);
  };
  for (const char* key : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
                          "num_attention_heads", "max_position_embeddings"}) {
    EXPECT_THAT(with(key, 1'000'000'000),
                AllOf(HasSubstr(std::string("config.json: model.") + key + " is 1000000000"),
                      HasSubstr(" parameters, "), HasSubstr(" bytes in f32"), HasSubstr("Try: ")));
    EXPECT_THAT(with(key, std::numeric_limits<std::int64_t>::max()), HasSubstr("is possible"));
    EXPECT_THAT(with(key, std::numeric_limits<std::uint64_t>::max()), HasSubstr("larger than any"));
    EXPECT_THAT(with(key, -1), HasSubstr("is -1"));
  }
  auto json = small_config();
  json.erase("head_dim");
  json["hidden_size"] = 1 << 24;
  json["intermediate_size"] = 1 << 24;
  json["num_hidden_layers"] = 10'000;
  EXPECT_THAT(problem(json), AllOf(HasSubstr("no machine holds"), HasSubstr("1.7e+19 parameters")));
}

/// Mutants of a file with every kind of value: one is read, or refused by name; nothing else.
TEST(HfRefusals, NoDamageToAFileCrashesItsReader) {
  auto json = small_config();
  json["rope_scaling"] = {{"rope_type", "llama3"},
                          {"factor", 8.0},
                          {"low_freq_factor", 1.0},
                          {"high_freq_factor", 4.0},
                          {"original_max_position_embeddings", 8192}};
  json["layer_types"] = {"full_attention", "full_attention"};
  json["sliding_window"] = nullptr;
  json["attention_multiplier"] = 1.0 / std::sqrt(8.0);
  const std::string good = json.dump();
  const std::string alphabet = "0123456789-+.eE{}[]\",:ntrufalse\\ \xff";
  std::mt19937 random(1);
  int read = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string bad = good;
    for (std::size_t changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % bad.size();
      if (random() % 4 == 0) {
        bad.erase(at, 1 + random() % 20);
      } else {
        bad[at] = alphabet[random() % alphabet.size()];
      }
    }
    try {
      const LlamaConfig config = parse_hf_config(bad, "config.json");
      EXPECT_GT(config.parameter_count(), 0);
      EXPECT_EQ(to_hf_config(parse_hf_config(to_hf_config(config), "")), to_hf_config(config));
      ++read;
    } catch (const ConfigError&) {  // naming what is wrong is right; anything else is not
    }
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace sherd::models
