#pragma once

#include <functional>
#include <optional>
#include <string>

#include "config/problems.hpp"
#include "sherd/config/train_config.hpp"

namespace sherd::config {

/// What the checks of whole configurations look at.
struct CheckContext {
  TrainConfig& config;
  Problems& problems;
  /// Where a key's value came from.
  std::function<Origin(const std::string& path)> origin;
  std::optional<LaunchShape> launch;

  [[nodiscard]] bool given(const std::string& path) const;
  void problem(const std::string& path, const std::string& what, const std::string& why,
               const std::string& suggestion) const;
  void notice(const std::string& path, const std::string& text) const;
};

/// Contradictions between keys, keys this version or this launch cannot honour, keys without effect
/// (which become notices). Looks whether data files exist.
void check_config(const CheckContext& context);

/// The model's sizes from init_from or preset, before single fields are applied.
void resolve_model(const CheckContext& context, bool any_field);

}  // namespace sherd::config
