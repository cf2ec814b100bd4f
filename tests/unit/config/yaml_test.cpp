#include <gmock/gmock.h>

#include <cstdlib>
#include <string>

#include "sherd/models/llama.hpp"
#include "unit/config/config_fixture.hpp"

namespace sherd::config {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using ConfigYaml = ConfigTest;

TEST_F(ConfigYaml, ASecondDocumentIsRefused) {
  EXPECT_THAT(problems(base("---\noptimizer: {learning_rate: 0.5}\n")),
              StartsWith(at(5) + "a second YAML document begins here"));
  EXPECT_THAT(problems(base(), {"training.steps=1\n--- 2"}),
              HasSubstr("training.steps: the value holds a second YAML document"));
  EXPECT_EQ(load("---\n" + base("...\n---\n")).training.steps, 3);  // others say nothing
}

TEST_F(ConfigYaml, MergeKeysBringWhatIsNotGiven) {
  const TrainConfig config = load(base(R"(x-fast: &fast {learning_rate: 0.5, warmup_steps: 9}
x-slow: &slow {learning_rate: 0.1, weight_decay: 0.3}
optimizer:
  warmup_steps: 2
  <<: [*fast, *slow]
fsdp_config: {<<: {checkpoint_interval: 4}}
)"));
  EXPECT_EQ(config.optimizer.learning_rate, 0.5);
  EXPECT_EQ(config.optimizer.warmup_steps, 2);
  EXPECT_EQ(config.optimizer.weight_decay, 0.3);
  EXPECT_EQ(config.fsdp_config.checkpoint_interval, 4);
}

TEST_F(ConfigYaml, MergedKeysAreCheckedWhereTheyAreWritten) {
  EXPECT_THAT(problems(base("x-a: &a\n  learning_rte: 1.0\noptimizer: {<<: *a}\n")),
              StartsWith(at(5) + "optimizer.learning_rte: unknown key"));
  EXPECT_THAT(problems(base("optimizer: {<<: 3}\n")),
              StartsWith(at(4) + "optimizer.<<: is not a map or a list of maps"));
  EXPECT_THAT(problems(base("optimizer: {<<: {momentum: 0.1}, <<: {epsilon: 1.0}}\n")),
              HasSubstr("optimizer.<<: given twice"));
  EXPECT_THAT(problems(base("optimizer: {'<<': {}}\n")), HasSubstr("optimizer.<<: unknown key"));
}

TEST_F(ConfigYaml, MergesThatNeverEndDo) {
  EXPECT_EQ(load(base("optimizer: &o {<<: *o, warmup_steps: 2}\n")).optimizer.warmup_steps, 2);
  std::string many = "x-0: &a0 {warmup_steps: 1}\n";
  for (int i = 1; i < 30; ++i) {  // nine to the power of thirty, if each were walked
    const std::string before = "*a" + std::to_string(i - 1);
    many += "x-" + std::to_string(i) + ": &a" + std::to_string(i) + " {<<: [";
    for (int k = 0; k < 8; ++k) {
      many += before + ", ";
    }
    many += before + "]}\n";
  }
  EXPECT_EQ(load(base(many + "optimizer: {<<: *a29}\n")).optimizer.warmup_steps, 1);
}

TEST_F(ConfigYaml, DeepNestingIsRefused) {
  for (const char* open : {"[", "{a: ", "[{a: "}) {
    std::string text = "model: ";
    for (int i = 0; i < 100'000; ++i) {
      text += open;
    }
    EXPECT_THAT(problems(text), HasSubstr("it is nested too deep"));
  }
}

TEST_F(ConfigYaml, TextThatNeverEndsIsRefused) {
  EXPECT_THAT(problems(std::string("model: {preset: tin\0\n---\na: 1\n", 31)),
              HasSubstr("run.yaml: not readable as YAML: it holds the control character 0x00"));
  EXPECT_THAT(problems(",\n---\n---\n"), HasSubstr("something that begins no document"));
  EXPECT_THAT(problems(base("logging: {directory: \xFF}\n")), HasSubstr("is not text in UTF-8"));
  EXPECT_THAT(problems(base(), {"logging.directory=\xFF"}), HasSubstr("is not text in UTF-8"));
}

TEST_F(ConfigYaml, PathsAreExpanded) {
  ::setenv("HOME", folder_.path().c_str(), 1);
  ::setenv("SHERD_TEST_PLACE", folder_.path().c_str(), 1);
  const TrainConfig config = load(
      "model: {preset: tiny}\ndata: {tokens: [~/data.bin, '${SHERD_TEST_PLACE}/data.bin']}\n"
      "training: {steps: 3}\n",
      {"fsdp_config.checkpoint_dir=$SHERD_TEST_PLACE/ck", "logging.directory=a$$b"});
  EXPECT_EQ(config.data.tokens.front(), folder_.path() / "data.bin");
  EXPECT_EQ(config.data.tokens.back(), folder_.path() / "data.bin");
  EXPECT_EQ(config.fsdp_config.checkpoint_dir, folder_.path() / "ck");
  EXPECT_EQ(config.logging.directory, "a$b");
  EXPECT_EQ(load(config.resolved_yaml).logging.directory, "a$b");
  EXPECT_THAT(
      problems(base(), {"fsdp_config.checkpoint_dir=$SHERD_TEST_NONE/ck"}),
      HasSubstr("fsdp_config.checkpoint_dir: '$SHERD_TEST_NONE/ck': the environment variable "
                "SHERD_TEST_NONE is not set (folder of the checkpoints). Try: "));
}

}  // namespace
}  // namespace sherd::config
