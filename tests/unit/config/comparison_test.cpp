#include "sherd/config/comparison.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "config/keys.hpp"
#include "config_fixture.hpp"

namespace sherd::config {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;
using Json = nlohmann::ordered_json;

class Comparison : public ConfigTest {
 protected:
  /// What is said of `config` when the checkpoint was saved with `stored` in the place of a value.
  static StoredDifferences after_change(const TrainConfig& config, const ConfigKey& key,
                                        const Json& stored) {
    Json json = Json::parse(config.resolved_json);
    if (key.path.find('.') == std::string::npos) {
      json[key.path] = stored;
    } else {
      json[key.section()][key.name()] = stored;
    }
    return differences_from_stored(json.dump(), config);
  }
};

TEST_F(Comparison, AConfigurationDoesNotDifferFromItself) {
  const TrainConfig config = load(base());
  const StoredDifferences differences = differences_from_stored(config.resolved_json, config);
  EXPECT_THAT(differences.refused, IsEmpty());
  EXPECT_THAT(differences.noted, IsEmpty());
}

TEST_F(Comparison, EveryKeyIsJudgedAsItsClassSays) {
  const TrainConfig config = load(base());
  for (const ConfigKey& key : config_keys()) {
    const StoredDifferences differences = after_change(config, key, "another value");
    EXPECT_EQ(differences.refused.size(), key.on_resume == OnResume::refused ? 1U : 0U) << key.path;
    EXPECT_EQ(differences.noted.size(), key.on_resume == OnResume::noted ? 1U : 0U) << key.path;
  }
}

TEST_F(Comparison, WhatChangesTheModelIsRefused) {
  // The table says so of each key; here those that somebody would miss are named once more.
  std::vector<std::string> refused;
  for (const ConfigKey& key : config_keys()) {
    if (key.on_resume == OnResume::refused) {
      refused.push_back(key.path);
    }
  }
  EXPECT_THAT(refused,
              ElementsAre("model.vocab_size", "model.hidden_size", "model.intermediate_size",
                          "model.num_hidden_layers", "model.num_attention_heads",
                          "model.num_key_value_heads", "model.head_dim", "model.rms_norm_eps",
                          "model.rope_theta", "model.tie_word_embeddings", "model.attention_bias",
                          "model.mlp_bias", "data.sequence_length", "training.global_batch_size",
                          "training.seed", "optimizer.name"));
}

TEST_F(Comparison, LinesHaveKeyBothValuesAndWhatToDo) {
  const TrainConfig config = load(base("optimizer: {learning_rate: 0.5}\n"));
  const auto keys = config_keys();
  const auto theta = after_change(config, *find_key(keys, "model.rope_theta"), 500.0);
  EXPECT_THAT(theta.refused,
              ElementsAre("model.rope_theta is 10000.0, and the checkpoint was saved with 500.0 "
                          "(its weights would be another model). Try: model.rope_theta=500.0, or "
                          "another fsdp_config.checkpoint_dir"));
  const auto rate = after_change(config, *find_key(keys, "optimizer.learning_rate"), 0.25);
  EXPECT_THAT(rate.noted, ElementsAre("optimizer.learning_rate is 0.5 now, the checkpoint was "
                                      "saved with 0.25"));
}

TEST_F(Comparison, NumbersAreComparedNotTheirSpelling) {
  const TrainConfig config = load(base());
  const auto keys = config_keys();
  EXPECT_THAT(after_change(config, *find_key(keys, "training.max_grad_norm"), 1).noted, IsEmpty());
}

TEST_F(Comparison, AKeyThatAnOlderVersionDidNotStoreHadItsDefault) {
  const TrainConfig config =
      load(base(), {"fsdp_config.reduce_dtype=bf16", "optimizer.weight_decay=0.5"});
  Json json = Json::parse(config.resolved_json);
  json["fsdp_config"].erase("reduce_dtype");
  json["optimizer"].erase("weight_decay");
  json["optimizer"].erase("momentum");  // at its default now
  json["model"].erase("head_dim");
  const auto differences = differences_from_stored(json.dump(), config);
  EXPECT_THAT(differences.refused, IsEmpty());
  EXPECT_THAT(
      differences.noted,
      ElementsAre("optimizer.weight_decay is 0.5 now, the checkpoint was saved with 0.1",
                  "fsdp_config.reduce_dtype is \"bf16\" now, the checkpoint was saved without it"));
}

TEST_F(Comparison, WhatAFamilyWritesBesideItsSizesIsComparedToo) {
  const TrainConfig config = load(base());
  Json json = Json::parse(config.resolved_json);
  json["model"]["hidden_act"] = "gelu";
  json["model"]["of_a_later_version"] = true;
  EXPECT_THAT(differences_from_stored(json.dump(), config).refused,
              ElementsAre(StartsWith("model.hidden_act is \"silu\", and the checkpoint was saved "
                                     "with \"gelu\" ")));
}

TEST_F(Comparison, OtherProgramsTextsAreNoConfiguration) {
  const TrainConfig config = load(base());
  for (const char* text :
       {"", "lr = 3", "[1, 2]", "{}", R"({"model": "mine"})", R"({"model": [)"}) {
    EXPECT_THAT(differences_from_stored(text, config).refused, IsEmpty()) << text;
  }
  EXPECT_THAT(differences_from_stored(R"({"model": {}, "training": 3})", config).noted,
              Contains(StartsWith("training.steps is 3 now")));
}

TEST_F(Comparison, RanksCompareEveryKeyButTheOneThatIsTheirOwn) {
  const TrainConfig config = load(base(), {"fsdp_config.local_rank=0"});
  std::vector<std::string> names;
  for (const comm::Fact& fact : common_facts(config)) {
    names.push_back(fact.name);
  }
  for (const ConfigKey& key : config_keys()) {
    const bool compared = std::find(names.begin(), names.end(), key.path) != names.end();
    const bool set = !key.get(config).is_null();
    EXPECT_EQ(compared, set && key.path != "fsdp_config.local_rank") << key.path;
  }
}

}  // namespace
}  // namespace sherd::config
