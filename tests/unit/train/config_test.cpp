#include "sherd/train/config.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sherd/base/error.hpp"
#include "unit/train/temp_folder.hpp"

namespace sherd::train {
namespace {

using test::message_of;
using test::TempFolder;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Config : public testing::Test {
 protected:
  Config() { folder_.write("data.bin", "abcdabcd"); }

  /// The smallest configuration that is right, plus `more`.
  std::string base(const std::string& more = "") const {
    return "model: {preset: tiny}\ndata: {tokens: " + (folder_.path() / "data.bin").string() +
           "}\ntraining: {steps: 3}\n" + more;
  }
  TrainConfig load(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
    return load_config(folder_.write("run.yaml", yaml), overrides);
  }
  std::string problems(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
    return message_of<ConfigError>([&] { (void)load(yaml, overrides); });
  }
  [[nodiscard]] std::string at(int line) const {
    return (folder_.path() / "run.yaml").string() + ":" + std::to_string(line) + ": ";
  }

  TempFolder folder_;
};

TEST_F(Config, DefaultsFillWhatIsNotSaid) {
  const TrainConfig config = load(base());
  EXPECT_EQ(config.training.steps, 3);
  EXPECT_EQ(config.training.global_batch_size, 8);
  EXPECT_EQ(config.optimizer.betas, (std::array<double, 2>{0.9, 0.95}));
  EXPECT_EQ(config.fsdp_config.sharding_strategy, fsdp::ShardingStrategy::full_shard);
  EXPECT_EQ(config.checkpoint.resume, CheckpointConfig::Resume::automatic);
  EXPECT_EQ(config.model.llama.hidden_size, 192);
  EXPECT_TRUE(config.notices.empty());
}

TEST_F(Config, EveryValueIsRead) {
  const TrainConfig config = load(base(R"(config_version: 1
optimizer: {name: sgd, learning_rate: 2.0e-2, weight_decay: 0, momentum: 0.5, decay: matrices,
            schedule: cosine, warmup_steps: 2, min_learning_rate: 1e-4}
fsdp_config: {sharding_strategy: SHARD_GRAD_OP, mixed_precision: true, fp16: false,
              activation_checkpointing: true, use_reentrant: true, checkpoint_interval: 7,
              checkpoint_dir: here, comm_backend: mpi, prefetch_depth: 0}
checkpoint: {keep_last: 0, resume: must, when_busy: skip}
logging: {directory: out, interval: 5}
)"));
  EXPECT_EQ(config.optimizer.name, OptimizerConfig::Name::sgd);
  EXPECT_EQ(config.optimizer.decay, OptimizerConfig::Decay::matrices);
  EXPECT_EQ(config.schedule().kind, optim::LrSchedule::Kind::cosine);
  EXPECT_EQ(config.schedule().peak, 2e-2);
  EXPECT_EQ(config.schedule().minimum, 1e-4);
  EXPECT_EQ(config.schedule().warmup_steps, 2);
  EXPECT_EQ(config.schedule().total_steps, 3);
  EXPECT_EQ(config.fsdp_config.sharding_strategy, fsdp::ShardingStrategy::shard_grad_op);
  EXPECT_TRUE(config.fsdp_config.mixed_precision);
  EXPECT_TRUE(config.fsdp_config.use_reentrant);
  EXPECT_EQ(config.fsdp_config.checkpoint_interval, 7);
  EXPECT_EQ(config.fsdp_config.comm_backend, "mpi");
  EXPECT_EQ(config.fsdp_config.prefetch_depth, 0);
  EXPECT_EQ(config.checkpoint.keep_last, 0);
  EXPECT_EQ(config.checkpoint.when_busy, io::WhenBusy::skip);
  EXPECT_EQ(config.logging.interval, 5);
}

TEST_F(Config, AMissingFileIsOneLine) {
  const std::string text =
      message_of<ConfigError>([&] { (void)load_config(folder_.path() / "no.yaml", {}); });
  EXPECT_THAT(text,
              AllOf(HasSubstr("no.yaml: cannot be read: No such file"), Not(HasSubstr("\n"))));
}

TEST_F(Config, AFolderIsNoConfiguration) {
  EXPECT_THAT(message_of<ConfigError>([&] { (void)load_config(folder_.path(), {}); }),
              HasSubstr("it is a folder"));
}

TEST_F(Config, BrokenYamlNamesTheLine) {
  EXPECT_THAT(problems("model: {preset: tiny}\ndata: [1, 2\ntraining: {steps: 3}\n"),
              AllOf(StartsWith((folder_.path() / "run.yaml").string() + ":"),
                    HasSubstr("not readable as YAML")));
}

TEST_F(Config, AMisspeltKeyGetsASuggestion) {
  const std::string text = problems(base("optimizer:\n  name: adamw\n  lerning_rate: 1\n"));
  EXPECT_EQ(text, at(6) +
                      "optimizer.lerning_rate: unknown key (it would have no effect). Try: "
                      "learning_rate");
}

TEST_F(Config, AKeyOfAnotherSectionIsPointedTo) {
  EXPECT_THAT(problems(base("optimizer:\n  seed: 1\n")), EndsWith("Try: training.seed"));
  EXPECT_THAT(problems(base("modle: {}\n")), EndsWith("Try: model"));
  EXPECT_THAT(problems(base(), {"steps=4"}), EndsWith("Try: training.steps"));
}

TEST_F(Config, AKeyGivenTwiceNamesBothLines) {
  EXPECT_THAT(problems(base("logging:\n  interval: 1\n  interval: 2\n")),
              StartsWith(at(6) + "logging.interval: given twice, first in line 5"));
  EXPECT_THAT(problems(base("training: {steps: 4}\n")), HasSubstr("training: given twice"));
}

TEST_F(Config, WrongTypesAreRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"training.steps=ten", "'ten' is not a whole number"},
      {"training.steps=3.5", "'3.5' is not a whole number"},
      {"training.steps=010x", "is not a whole number"},
      {"training.steps='3'", "is not a whole number but text in quotes"},
      {"training.steps=", "has no value, a whole number is needed"},
      {"training.steps=[1]", "a list is not a whole number"},
      {"training.max_grad_norm=big", "'big' is not a finite number"},
      {"training.max_grad_norm=.inf", "is not a finite number"},
      {"fsdp_config.mixed_precision=yes", "'yes' is not true or false"},
      {"optimizer.betas=0.9", "'0.9' is not a list of 2 numbers"},
      {"optimizer.betas=[0.9]", "a list is not a list of 2 numbers"},
      {"data.tokens=[]", "the list is empty"},
      {"data.order=random", "'random' is not one of sequential, shuffled"},
      {"optimizer.name=adam", "did you mean adamw?"},
      {"model.preset=huge", "'huge' is not one of tiny, 125m"},
  };
  for (const auto& [override_text, problem] : cases) {
    const std::string text = problems(base(), {override_text});
    EXPECT_THAT(text, AllOf(StartsWith("command line: "), HasSubstr(problem), HasSubstr("Try: ")))
        << override_text;
  }
}

TEST_F(Config, OutOfRangeIsRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"training.steps=0", "0 is out of range, the least is 1"},
      {"training.steps=99999999999999999999", "is not a whole number"},
      {"training.global_batch_size=-4", "the least is 1"},
      {"training.max_grad_norm=-1", "must be at least 0"},
      {"optimizer.epsilon=0", "must be above 0"},
      {"optimizer.betas=[0.9, 1.0]", "must be below 1"},
      {"fsdp_config.checkpoint_interval=-1", "the least is 0"},
      {"config_version=2", "newer than this program"},
  };
  for (const auto& [override_text, problem] : cases) {
    EXPECT_THAT(problems(base(), {override_text}), HasSubstr(problem)) << override_text;
  }
}

TEST_F(Config, ContradictionsAreRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"model.init_from=x", "given together with preset"},
      {"data.text=run.yaml", "given together with tokens"},
      {"data.tokens=nowhere.bin", "nowhere.bin does not exist"},
      {"data.sequence_length=5000", "longer than the model's max_position_embeddings, 1024"},
      {"optimizer.min_learning_rate=1", "is above learning_rate"},
      {"fsdp_config.device=cuda", "cuda cannot be used here"},
      {"fsdp_config.device=gpu", "'gpu' is not one of cpu, cuda"},
      {"fsdp_config.fp16=true", "true without mixed_precision"},
      {"fsdp_config.shard_optimizer_state=false", "false with FULL_SHARD"},
      {"fsdp_config.model_parallel_size=2", "not in this version"},
      {"fsdp_config.sharding_strategy=FULL_SHRAD", "did you mean FULL_SHARD?"},
      {"checkpoint.keep_last=1", "keep_last: 2"},
      {"checkpoint.layout=per_rank", "'per_rank' is not in this version"},
      {"model.num_attention_heads=5", "model: "},
  };
  for (const auto& [override_text, problem] : cases) {
    EXPECT_THAT(problems(base(), {override_text}), HasSubstr(problem)) << override_text;
  }
  EXPECT_THAT(problems(base(), {"fsdp_config.fp16=true", "fsdp_config.mixed_precision=true"}),
              HasSubstr("fp16 needs the loss scaler that this version does not have). Try: fp16: "
                        "false (bf16)"));
}

TEST_F(Config, TextNeedsAVocabularyForBytes) {
  EXPECT_THAT(problems("model: {preset: tiny, vocab_size: 100}\ndata: {text: [" +
                       (folder_.path() / "data.bin").string() + "]}\ntraining: {steps: 1}\n"),
              HasSubstr("bytes do not fit a vocabulary of 100"));
}

TEST_F(Config, NothingToTrainIsRefused) {
  const std::string text = problems("training: {steps: 1}\n");
  EXPECT_THAT(text, AllOf(HasSubstr("model: nothing says which model to train"),
                          HasSubstr("data: neither tokens nor text is given")));
  EXPECT_THAT(problems("model: {preset: tiny}\ndata: {text: run.yaml}\n"),
              HasSubstr("training.steps: missing"));
}

TEST_F(Config, AllProblemsComeAtOnceInTheOrderOfTheFile) {
  const std::string text = problems(
      "model: {preset: tny}\ndata: {}\ntraining:\n  steps: x\n  sede: 3\n"
      "fsdp_config: {device: cuda}\n",
      {"logging.interval=0"});
  const std::vector<std::string> wanted = {
      at(1) + "model.preset",       at(2) + "data:",
      at(4) + "training.steps",     at(5) + "training.sede",
      at(6) + "fsdp_config.device", "command line: logging.interval"};
  std::size_t reached = 0;
  for (const std::string& each : wanted) {
    const std::size_t found = text.find(each, reached);
    ASSERT_NE(found, std::string::npos) << each << " is not in order in:\n" << text;
    reached = found + 1;
  }
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5) << text;
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
  EXPECT_EQ(config.model.llama.num_key_value_heads, 2);
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
  EXPECT_EQ(config.fsdp_config.sharding_strategy, fsdp::ShardingStrategy::no_shard);
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
}  // namespace sherd::train
