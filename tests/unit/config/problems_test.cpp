#include <gmock/gmock.h>

#include <algorithm>

#include "unit/config/config_fixture.hpp"

namespace sherd::config {
namespace {

using test::message_of;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using ConfigProblems = ConfigTest;

TEST_F(ConfigProblems, AMissingFileIsOneLine) {
  const std::string text =
      message_of<ConfigError>([&] { (void)load_config(folder_.path() / "no.yaml", {}); });
  EXPECT_THAT(text,
              AllOf(HasSubstr("no.yaml: cannot be read: No such file"), Not(HasSubstr("\n"))));
}

TEST_F(ConfigProblems, AFolderIsNoConfiguration) {
  EXPECT_THAT(message_of<ConfigError>([&] { (void)load_config(folder_.path(), {}); }),
              HasSubstr("it is a folder"));
}

TEST_F(ConfigProblems, BrokenYamlNamesTheLine) {
  EXPECT_THAT(problems("model: {preset: tiny}\ndata: [1, 2\ntraining: {steps: 3}\n"),
              AllOf(StartsWith((folder_.path() / "run.yaml").string() + ":"),
                    HasSubstr("not readable as YAML")));
}

TEST_F(ConfigProblems, AMisspeltKeyGetsASuggestion) {
  const std::string text = problems(base("optimizer:\n  name: adamw\n  lerning_rate: 1\n"));
  EXPECT_EQ(text, at(6) +
                      "optimizer.lerning_rate: unknown key (it would have no effect). Try: "
                      "learning_rate");
}

TEST_F(ConfigProblems, AKeyOfAnotherSectionIsPointedTo) {
  EXPECT_THAT(problems(base("optimizer:\n  seed: 1\n")), EndsWith("Try: training.seed"));
  EXPECT_THAT(problems(base("modle: {}\n")), EndsWith("Try: model"));
  EXPECT_THAT(problems(base(), {"steps=4"}), EndsWith("Try: training.steps"));
}

TEST_F(ConfigProblems, AKeyGivenTwiceNamesBothLines) {
  EXPECT_THAT(problems(base("logging:\n  interval: 1\n  interval: 2\n")),
              StartsWith(at(6) + "logging.interval: given twice, first in line 5"));
  EXPECT_THAT(problems(base("training: {steps: 4}\n")), HasSubstr("training: given twice"));
}

TEST_F(ConfigProblems, WrongTypesAreRefused) {
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

TEST_F(ConfigProblems, OutOfRangeIsRefused) {
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

TEST_F(ConfigProblems, ContradictionsAreRefused) {
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
      {"fsdp_config.reshard_after_backward=false", "gives groups back after forward"},
      {"fsdp_config.reduce_dtype=f8", "'f8' is not one of f32, bf16, f16"},
      {"fsdp_config.initial_loss_scale=0", "must be above 0"},
      {"training.norm_type=4", "'4' is not one of 1, 2, 3, inf"},
      {"fsdp_config.model_parallel_size=2", "not in this version"},
      {"fsdp_config.sharding_strategy=FULL_SHRAD", "did you mean FULL_SHARD?"},
      {"checkpoint.keep_last=1", "keep_last: 2"},
      {"checkpoint.layout=per_disk", "per_disk"},
      {"model.num_attention_heads=5", "model: "},
  };
  for (const auto& [override_text, problem] : cases) {
    EXPECT_THAT(problems(base(), {override_text}), HasSubstr(problem)) << override_text;
  }
}

TEST_F(ConfigProblems, TextNeedsAVocabularyForBytes) {
  EXPECT_THAT(problems("model: {preset: tiny, vocab_size: 100}\ndata: {text: [" +
                       (folder_.path() / "data.bin").string() + "]}\ntraining: {steps: 1}\n"),
              HasSubstr("bytes do not fit a vocabulary of 100"));
}

TEST_F(ConfigProblems, NothingToTrainIsRefused) {
  const std::string text = problems("training: {steps: 1}\n");
  EXPECT_THAT(text, AllOf(HasSubstr("model: nothing says which model to train"),
                          HasSubstr("data: neither tokens nor text is given")));
  EXPECT_THAT(problems("model: {preset: tiny}\ndata: {text: run.yaml}\n"),
              HasSubstr("training.steps: missing"));
}

TEST_F(ConfigProblems, AllProblemsComeAtOnceInTheOrderOfTheFile) {
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

}  // namespace
}  // namespace sherd::config
