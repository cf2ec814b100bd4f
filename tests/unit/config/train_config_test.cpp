#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "sherd/models/llama.hpp"
#include "unit/config/config_fixture.hpp"

namespace sherd::config {
namespace {

using test::message_of;
using testing::HasSubstr;

using Config = ConfigTest;

TEST_F(Config, DefaultsFillWhatIsNotSaid) {
  const TrainConfig config = load(base());
  EXPECT_EQ(config.training.steps, 3);
  EXPECT_EQ(config.training.global_batch_size, 8);
  EXPECT_EQ(config.optimizer.betas, (std::array<double, 2>{0.9, 0.95}));
  EXPECT_EQ(config.fsdp_config.options.strategy, fsdp::ShardingStrategy::full_shard);
  EXPECT_EQ(config.checkpoint.resume, CheckpointConfig::Resume::automatic);
  EXPECT_EQ(models::llama_config(config.model.spec).hidden_size, 192);
  EXPECT_TRUE(config.notices.empty());
}

TEST_F(Config, EveryValueIsRead) {
  const TrainConfig config = load(base(R"(config_version: 1
optimizer: {name: sgd, learning_rate: 2.0e-2, weight_decay: 0, momentum: 0.5, decay: matrices,
            schedule: cosine, warmup_steps: 2, min_learning_rate: 1e-4}
fsdp_config: {sharding_strategy: SHARD_GRAD_OP, mixed_precision: true, fp16: false,
              activation_checkpointing: true, use_reentrant: true, checkpoint_interval: 7,
              checkpoint_dir: here, comm_backend: mpi, prefetch_depth: 0}
checkpoint: {keep_last: 0, resume: must, overlap: skip}
logging: {directory: out, interval: 5}
)"));
  EXPECT_EQ(config.optimizer.name, OptimizerConfig::Name::sgd);
  EXPECT_EQ(config.optimizer.decay, OptimizerConfig::Decay::matrices);
  EXPECT_EQ(config.schedule().kind, optim::LrSchedule::Kind::cosine);
  EXPECT_EQ(config.schedule().peak, 2e-2);
  EXPECT_EQ(config.schedule().minimum, 1e-4);
  EXPECT_EQ(config.schedule().warmup_steps, 2);
  EXPECT_EQ(config.schedule().total_steps, 3);
  EXPECT_EQ(config.fsdp_config.options.strategy, fsdp::ShardingStrategy::shard_grad_op);
  EXPECT_TRUE(config.fsdp_config.mixed_precision);
  EXPECT_TRUE(config.fsdp_config.use_reentrant);
  EXPECT_EQ(config.fsdp_config.checkpoint_interval, 7);
  EXPECT_EQ(config.fsdp_config.comm_backend, "mpi");
  EXPECT_EQ(config.fsdp_config.options.prefetch_depth, 0);
  EXPECT_EQ(config.checkpoint.keep_last, 0);
  EXPECT_EQ(config.checkpoint.overlap, io::Overlap::skip);
  EXPECT_EQ(config.logging.interval, 5);
}

TEST_F(Config, OverridesReplaceTheFileAndAreRemembered) {
  const TrainConfig config =
      load("model: {preset: tiny}\ndata: {tokens: " + (folder_.path() / "data.bin").string() +
               "}\ntraining: {steps: 3, global_batch_size: 6, micro_batch_size: 2, seed: 5}\n"
               "optimizer: {betas: [0.8, 0.9]}\n",
           {"training.steps=20", "optimizer.betas=[0.1, 0.2]"});
  EXPECT_EQ(config.training.steps, 20);
  EXPECT_EQ(config.training.global_batch_size, 6);  // the neighbours keep their values
  EXPECT_EQ(config.training.micro_batch_size, 2);
  EXPECT_EQ(config.training.seed, 5U);
  EXPECT_EQ(config.optimizer.betas, (std::array<double, 2>{0.1, 0.2}));
  EXPECT_THAT(config.resolved_yaml, HasSubstr("steps: 20"));
  EXPECT_THAT(problems(base(), {"training.steps"}), HasSubstr("not of the form key=value"));
}

TEST_F(Config, EveryOriginIsShown) {
  const TrainConfig config = load(base("logging:\n  interval: 4\n"), {"training.seed=9"});
  const auto origin = [&](const std::string& key) {
    const auto begin = config.resolved_yaml.find("  " + key + ": ");
    const auto line =
        config.resolved_yaml.substr(begin, config.resolved_yaml.find('\n', begin) - begin);
    return line.substr(line.find("# ") + 2);
  };
  EXPECT_EQ(origin("seed"), "command line");
  EXPECT_EQ(origin("interval") + ": ", at(5));
  EXPECT_EQ(origin("micro_batch_size"), "default");
  EXPECT_EQ(origin("hidden_size"), "preset tiny");
}

TEST_F(Config, TheResolvedFileReadsBackTheSame) {
  for (const std::string& more :
       {std::string(),
        std::string("optimizer: {learning_rate: 3.3333333333333335e-05}\n"
                    "fsdp_config: {sharding_strategy: NO_SHARD, checkpoint_dir: 'a b #c'}\n")}) {
    const TrainConfig first = load(base(more));
    const TrainConfig again = load(first.resolved_yaml);
    EXPECT_EQ(again.resolved_json, first.resolved_json);
  }
}

TEST_F(Config, AModelFolderGivesTheSizes) {
  const std::string folder = std::string(SHERD_TEST_DATA) + "/reference/llama";
  const std::string yaml = "model: {init_from: " + folder + "}\ndata: {tokens: " + folder +
                           "/tokens.bin, sequence_length: 24}\ntraining: {steps: 1}\n";
  const TrainConfig config = load(yaml);
  EXPECT_EQ(models::llama_config(config.model.spec).num_key_value_heads, 2);
  EXPECT_EQ(load(config.resolved_yaml).resolved_json, config.resolved_json);
  const auto json = nlohmann::json::parse(config.resolved_json);
  EXPECT_EQ(json["model"]["intermediate_size"], 88);
  EXPECT_EQ(json["data"]["sequence_length"], 24);
  EXPECT_THAT(problems(yaml, {"model.vocab_size=3"}),
              HasSubstr("given together with single sizes"));
  EXPECT_THAT(problems(yaml, {"model.init_from=nowhere"}),
              HasSubstr("config.json: cannot be read"));
}

TEST_F(Config, KeysWithoutEffectAreNoticed) {
  const auto notices = [&](const std::string& override_text) {
    const TrainConfig config = load(base(), {override_text});
    return config.notices.size() == 1 ? config.notices[0] : "";
  };
  EXPECT_THAT(notices("fsdp_config.offload_params=true"), HasSubstr("nothing to offload"));
  EXPECT_THAT(notices("fsdp_config.use_reentrant=true"), HasSubstr("no effect without"));
  EXPECT_THAT(notices("optimizer.momentum=0.1"), HasSubstr("no effect with name: adamw"));
  EXPECT_THAT(notices("fsdp_config.local_rank=0"), HasSubstr("MPI numbers the ranks"));
  EXPECT_THAT(notices("fsdp_config.fsdp_use_reentrant=true").size(), 0U);  // two notices
}

TEST_F(Config, AcceleratesPrefixIsReadWithANotice) {
  const TrainConfig config = load(base("fsdp_config: {fsdp_sharding_strategy: NO_SHARD}\n"));
  EXPECT_EQ(config.fsdp_config.options.strategy, fsdp::ShardingStrategy::no_shard);
  ASSERT_EQ(config.notices.size(), 1U);
  EXPECT_THAT(config.notices[0], HasSubstr("read as fsdp_config.sharding_strategy"));
  EXPECT_THAT(problems(base("fsdp_config: {fsdp_device: cpu, device: cpu}\n")),
              HasSubstr("given twice"));
}

TEST_F(Config, TheLaunchIsCompared) {
  const auto file = folder_.write("run.yaml", base("fsdp_config:\n  world_size: 8\n"));
  const std::string text = message_of<ConfigError>([&] {
    (void)load_config(file, {}, LaunchShape{2, 2});
  });
  EXPECT_EQ(text, at(5) +
                      "fsdp_config.world_size: 8 but the launch has 2 ranks (the two must be "
                      "equal). Try: mpirun -n 8 sherd train ..., or leave the key out");
  EXPECT_EQ(load_config(file, {}, LaunchShape{8, 4}).fsdp_config.world_size, 8);
  EXPECT_THAT(message_of<ConfigError>([&] {
                (void)load_config(file, {"fsdp_config.world_size=2", "fsdp_config.local_rank=2"},
                                  LaunchShape{2, 2});
              }),
              HasSubstr("2 but this node has 2 ranks"));
}

}  // namespace
}  // namespace sherd::config
