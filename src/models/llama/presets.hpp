#pragma once

#include <vector>

#include "sherd/models/family.hpp"

namespace sherd::models {

/// Sizes people know by name: tiny (1.7 M parameters, bytes), 125m, 1b, 7b, 13b, 70b.
[[nodiscard]] std::vector<Preset> llama_presets();

}  // namespace sherd::models
