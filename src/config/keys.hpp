#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sherd/config/train_config.hpp"

namespace sherd::config {

/// What a resume does when a key's value is not the one its checkpoint was saved with.
enum class OnResume : std::uint8_t {
  refused,  ///< the saved weights would be another model, or the saved position other data
  noted,    ///< the course changes: said in a line, and the next checkpoint stores the new value
  free      ///< paths, logging, strategy, ranks: nothing that is learnt depends on it but rounding
};
/// "refused"
[[nodiscard]] std::string_view to_string(OnResume change) noexcept;

/// One key of the configuration file: how to read, check and show it.
struct ConfigKey {
  std::string path;  ///< "training.steps"
  OnResume on_resume;
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
