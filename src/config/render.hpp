#pragma once

#include <map>
#include <string>

#include "config/problems.hpp"
#include "sherd/config/train_config.hpp"

namespace sherd::config {

/// YAML that load_config() reads back to the same configuration, each value's origin beside it.
[[nodiscard]] std::string render_yaml(const TrainConfig& config,
                                      const std::map<std::string, Origin>& origins);
/// Sections as JSON objects; "model" holds the sizes under their config.json names.
[[nodiscard]] std::string render_json(const TrainConfig& config);

}  // namespace sherd::config
