#pragma once

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "sherd/base/error.hpp"
#include "sherd/config/train_config.hpp"
#include "support/temp_folder.hpp"

namespace sherd::config {

/// Loads configurations from a folder of their own.
class ConfigTest : public testing::Test {
 protected:
  ConfigTest() { folder_.write("data.bin", "abcdabcd"); }

  /// The smallest configuration that is right, plus `more`.
  std::string base(const std::string& more = "") const {
    return "model: {preset: tiny}\ndata: {tokens: " + (folder_.path() / "data.bin").string() +
           "}\ntraining: {steps: 3}\n" + more;
  }
  TrainConfig load(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
    return load_config(folder_.write("run.yaml", yaml), overrides, LaunchShape{1, 1});
  }
  std::string problems(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
    return test::message_of<ConfigError>([&] { (void)load(yaml, overrides); });
  }
  [[nodiscard]] std::string at(int line) const {
    return (folder_.path() / "run.yaml").string() + ":" + std::to_string(line) + ": ";
  }

  test::TempFolder folder_;
};

}  // namespace sherd::config
