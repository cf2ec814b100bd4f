#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sherd/models/llama.hpp"

namespace sherd::models {

/// Sizes people know by name: tiny (1.7 M parameters, bytes), 125m, 1b, 7b, 13b, 70b. nullopt for
/// other names.
[[nodiscard]] std::optional<LlamaConfig> preset_config(const std::string& name);
[[nodiscard]] const std::vector<std::string>& preset_names();

}  // namespace sherd::models
