#pragma once

#include <map>
#include <string>

#include "sherd/train/config.hpp"
#include "train/config_problems.hpp"

namespace sherd::train {

/// YAML that load_config() reads back to the same configuration, each value's origin beside it.
[[nodiscard]] std::string render_yaml(const TrainConfig& config,
                                      const std::map<std::string, Origin>& origins);
/// Sections as JSON objects; "model" holds the sizes under their config.json names.
[[nodiscard]] std::string render_json(const TrainConfig& config);

}  // namespace sherd::train
