#include "sherd/plan/plan.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "plan/format.hpp"
#include "sherd/base/error.hpp"
#include "sherd/models/llama.hpp"
#include "support/temp_folder.hpp"

namespace sherd::plan {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

StepPlan plan_preset(const std::string& preset, const PlanChanges& changes, PlanShape shape) {
  return plan_step(plan_subject(preset_plan_config(preset), changes, shape), shape);
}

TEST(Presets, HaveThePublishedNumbersOfParameters) {
  const std::pair<const char*, std::int64_t> published[] = {
      {"1b", 1'100'048'384},    // TinyLlama 1.1B
      {"7b", 6'738'415'616},    // Llama 2 7B
      {"13b", 13'015'864'320},  // Llama 2 13B
      {"70b", 68'976'648'192},  // Llama 2 70B
  };
  for (const auto& [name, parameters] : published) {
    EXPECT_EQ(models::find_preset(name)->facts().parameters, parameters) << name;
  }
}

TEST(Plan, FoldsWhatLooksAlike) {
  EXPECT_EQ(fold_names({"", "layers.2", "layers.0", "layers.1", "layers.5", "head"}),
            "root, layers.0-2,5, head");
  EXPECT_EQ(fold_names({"layers.1", "layers.3", "layers.5", "layers.7"}), "layers.1,3..7");
  EXPECT_EQ(fold_names({"7"}), "7");
  EXPECT_EQ(fold_names({}), "");
  const StepPlan plan = plan_preset("7b", {}, {1, 8, true});
  const auto groups = fold(plan.sharding.groups);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups.front().names.size() + groups.back().names.size(), 33U);
}

TEST(Plan, ReadsAmountsOfMemory) {
  EXPECT_EQ(parse_memory("80GiB"), std::size_t{80} << 30);
  EXPECT_EQ(parse_memory("80G"), std::size_t{80} << 30);
  EXPECT_EQ(parse_memory("80GB"), 80'000'000'000U);
  EXPECT_EQ(parse_memory("1.5MiB"), 1'572'864U);
  EXPECT_EQ(parse_memory("123"), 123U);
  for (const char* text : {"", "GiB", "80 parsecs", "-1GiB", "0", "80GiBs", "1e30TiB"}) {
    EXPECT_THROW((void)parse_memory(text), ConfigError) << text;
  }
}

/// 13b with fp16 weights and fp32 Adam moments, as the public article has it: 26 GB of weights and
/// 104 GB of moments on every rank, or an eighth of both on each of eight.
TEST(Plan, ReproducesThePublicArticlesArithmetic) {
  PlanChanges fp16;
  fp16.dtype = "f16";
  const StepPlan plan = plan_preset("13b", fp16, {1, 8, true});
  const auto gigabytes = [](std::size_t bytes) { return static_cast<double>(bytes) / 1e9; };
  EXPECT_NEAR(gigabytes(plan.replicated.memory.compute_parameters), 26.0, 0.1);
  EXPECT_NEAR(gigabytes(plan.replicated.memory.optimizer_state), 104.0, 0.2);
  EXPECT_NEAR(gigabytes(plan.sharding.memory.compute_parameters), 3.25, 0.01);
  EXPECT_NEAR(gigabytes(plan.sharding.memory.optimizer_state), 13.0, 0.02);
  // What it leaves out: masters and gradients in f32, another eighth of 52 GB each.
  EXPECT_NEAR(gigabytes(plan.sharding.memory.parameters), 6.5, 0.01);
  EXPECT_NEAR(gigabytes(plan.sharding.memory.gradients), 6.5, 0.01);
}

TEST(Plan, HybridCutsOverANodeAndSendsLessAcross) {
  PlanChanges hybrid;
  hybrid.strategy = "HYBRID_SHARD";
  const PlanShape shape{4, 8, true};
  const StepPlan full = plan_preset("7b", {}, shape);
  const StepPlan plan = plan_preset("7b", hybrid, shape);
  EXPECT_NEAR(static_cast<double>(plan.sharding.memory.parameters),
              4.0 * static_cast<double>(full.sharding.memory.parameters), 1e6);
  EXPECT_LT(plan.sharding.traffic.bytes(fsdp::LinkLevel::cross),
            full.sharding.traffic.bytes(fsdp::LinkLevel::cross));
  EXPECT_EQ(full.replicated.memory, plan.replicated.memory);
}

TEST(Plan, DeferringSendsAcrossOnce) {
  const PlanShape shape{4, 8, true};
  PlanChanges changes{.strategy = "HYBRID_SHARD", .accumulate = 1};
  const StepPlan once = plan_preset("7b", changes, shape);
  changes.accumulate = 4;
  const StepPlan each = plan_preset("7b", changes, shape);
  changes.accumulation = "defer_all_reduce";
  const StepPlan deferred = plan_preset("7b", changes, shape);
  const auto across = [](const StepPlan& plan) {
    return plan.sharding.traffic.bytes(fsdp::LinkLevel::cross);
  };
  EXPECT_EQ(across(each), 4 * across(once));
  EXPECT_EQ(across(deferred), across(once));
  EXPECT_GT(deferred.sharding.memory.partial_gradients, 0U);
}

TEST(Plan, MicroBatchesAreThoseOfTheRankWithMost) {
  config::TrainConfig config = preset_plan_config("tiny");
  config.training.global_batch_size = 13;
  config.training.micro_batch_size = 2;
  const PlanSubject most = plan_subject(config, {}, {2, 2, true});  // 4, 3, 3, 3 sequences
  EXPECT_EQ(most.micro_batches, 2);
  EXPECT_EQ(most.micro_batch_sequences, 2);
  PlanChanges changes;
  changes.accumulate = 5;
  changes.micro_batch = 3;
  const PlanSubject changed = plan_subject(config, changes, {1, 4, true});
  EXPECT_EQ(changed.micro_batches, 5);
  EXPECT_EQ(changed.micro_batch_sequences, 3);
}

TEST(Plan, SaysWhatDoesNotFitAndWhatWould) {
  const StepPlan plan = plan_preset("7b", {}, {1, 8, true});
  EXPECT_TRUE(check_memory(plan, plan.bytes_per_rank()).fits);
  const Verdict close = check_memory(plan, plan.bytes_per_rank() - 1);
  EXPECT_FALSE(close.fits);
  EXPECT_THAT(close.text, HasSubstr("Try: --activation-checkpointing non_reentrant ("));
  const Verdict far = check_memory(plan, std::size_t{6} << 30);
  EXPECT_THAT(far.text, HasSubstr("--nodes "));
  EXPECT_THAT(check_memory(plan, 1000).text, HasSubstr("a smaller model"));
}

TEST(Plan, RefusesWhatMakesNoSense) {
  EXPECT_THROW((void)preset_plan_config("8b"), ConfigError);
  const auto refused = [](const PlanChanges& changes) {
    EXPECT_THROW((void)plan_subject(preset_plan_config("tiny"), changes, {}), ConfigError);
  };
  refused({.strategy = "FULL"});
  refused({.dtype = "fp8"});
  refused({.activation_checkpoint = "yes"});
  refused({.sequence_length = 5000});
  refused({.sequence_length = 0});
  refused({.micro_batch = -1});
  refused({.accumulate = 0});
  refused({.accumulation = "sometimes"});
  EXPECT_THROW((void)plan_preset("tiny", {}, {0, 1, true}), ConfigError);
  EXPECT_THROW((void)plan_preset("tiny", {}, {1 << 20, 1 << 20, true}), ConfigError);
}

TEST(Plan, ReadsLlamaFamilyConfigs) {
  const test::TempFolder folder;
  const auto write = [&](const std::string& text) { (void)folder.write("config.json", text); };
  const std::string sizes =
      R"("vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336,
         "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
         "max_position_embeddings": 32768, "rope_scaling": {"rope_type": "llama3"}})";
  for (const char* type : {"llama", "mistral"}) {
    write(R"({"model_type": ")" + std::string(type) + R"(", )" + sizes);
    for (const auto& path : {folder.path(), folder.path() / "config.json"}) {
      const auto model = models::llama_config(model_plan_config(path).model.spec);
      EXPECT_EQ(model.parameter_count(), 7'241'732'096) << type;  // Mistral 7B
    }
  }
  write(R"({"model_type": "gpt2", )" + sizes);
  EXPECT_THROW((void)model_plan_config(folder.path()), ConfigError);
  EXPECT_THROW((void)model_plan_config(folder.path() / "nothing"), ConfigError);
}

TEST(Plan, JsonHasAllOfIt) {
  PlanChanges hybrid;
  hybrid.strategy = "HYBRID_SHARD";
  hybrid.accumulate = 3;
  const StepPlan plan = plan_preset("tiny", hybrid, {2, 2, true});
  const json all = json::parse(plan_json(plan, 1000));
  EXPECT_EQ(all["parameters"], models::find_preset("tiny")->facts().parameters);
  EXPECT_EQ(all["bytes_per_rank"]["total"], plan.bytes_per_rank());
  EXPECT_EQ(all["bytes_per_rank"]["by_kind"]["optimizer_state"],
            plan.sharding.memory.optimizer_state);
  EXPECT_EQ(all["collectives"].size(), plan.sharding.collectives.size());
  EXPECT_EQ(all["slots"].size(), plan.sharding.slots.size());
  EXPECT_EQ(all["memory"]["fits"], false);
  for (const json& group : all["groups"]) {
    // Both nodes hold the same halves.
    const json& owned = group["owned_elements_by_rank"];
    EXPECT_EQ(owned[0], owned[2]);
    EXPECT_EQ(owned[1], owned[3]);
    EXPECT_EQ(owned[1][0], group["buffer_elements"].get<std::int64_t>() / 2);
  }
}

TEST(Plan, TextNamesEveryPart) {
  const std::string text = plan_text(plan_preset("70b", {}, {64, 8, true}));
  for (const char* part :
       {"68976648192 parameters", "64 node(s) x 8 ranks", "layers.0-79", "all_gather",
        "reduce_scatter", "NO_SHARD (DDP)", "optimizer_state", "gate, up, their product",
        "non_reentrant", "Bytes a rank sends per step"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

}  // namespace
}  // namespace sherd::plan
