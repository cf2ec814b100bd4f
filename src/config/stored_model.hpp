#pragma once

#include <filesystem>
#include <optional>

#include "sherd/models/family.hpp"

namespace sherd::config {

struct StoredModel {
  models::ModelSpec spec;
  std::filesystem::path checkpoint;  ///< the step folder that says so
};

/// The model that the newest committed checkpoint of a directory is of, by the configuration in it;
/// nothing where there is none that can be read. Local; nothing is changed.
[[nodiscard]] std::optional<StoredModel> stored_model(const std::filesystem::path& directory);

}  // namespace sherd::config
