#pragma once

#include <filesystem>
#include <string>

#include "sherd/io/inspect.hpp"
#include "sherd/models/family.hpp"

namespace sherd::weights {

/// The model in a checkpoint, from the configuration saved in it. Throws ConfigError.
[[nodiscard]] models::ModelSpec model_of(const io::CheckpointReader& checkpoint);

/// The folder that the run began from (model.init_from); empty when it does not say.
[[nodiscard]] std::filesystem::path base_folder_of(const io::CheckpointReader& checkpoint);

/// Checkpoint key of a parameter: "model." in front.
[[nodiscard]] inline std::string checkpoint_key(const std::string& parameter) {
  return "model." + parameter;
}

}  // namespace sherd::weights
