#pragma once

#include <yaml-cpp/yaml.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sherd/config/train_config.hpp"

namespace sherd::config {

/// One key of the configuration file: how to read, check and show it.
struct ConfigKey {
  std::string path;     ///< "training.steps"
  std::string meaning;  ///< what the value says, for messages and documents
  std::string example;  ///< a value worth trying
  bool required = false;
  /// Reads the value into the configuration; returns what is wrong with it, "" when nothing is.
  std::function<std::string(TrainConfig&, const YAML::Node&)> set;
  /// The value in a configuration; null when unset.
  std::function<nlohmann::json(const TrainConfig&)> get;

  [[nodiscard]] std::string section() const { return path.substr(0, path.find('.')); }
  [[nodiscard]] std::string name() const { return path.substr(path.find('.') + 1); }
  /// "steps: 1000", for "Try:".
  [[nodiscard]] std::string suggestion() const { return name() + ": " + example; }
};

/// Every key, in the order the resolved configuration prints them; those of `model` are what a
/// model of this family has.
[[nodiscard]] std::vector<ConfigKey> config_keys(const models::ModelFamily& family);
/// With the first family's.
[[nodiscard]] std::vector<ConfigKey> config_keys();
/// The sections in their order.
[[nodiscard]] const std::vector<std::string>& config_sections();
/// nullptr when there is no such key.
[[nodiscard]] const ConfigKey* find_key(const std::vector<ConfigKey>& keys,
                                        const std::string& path);
/// Whether the key is a size of the model, which only a family knows.
[[nodiscard]] bool is_size(const ConfigKey& key);

}  // namespace sherd::config
