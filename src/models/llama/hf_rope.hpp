#pragma once

#include "models/llama/hf_reader.hpp"
#include "sherd/models/llama.hpp"

namespace sherd::models {

/// Reads how a config.json rotates positions: rope_theta and rope_scaling, or rope_parameters with
/// both in it, as newer files have. Throws ConfigError for kinds this program does not compute.
void read_rope(const HfReader& reader, LlamaConfig& config);

}  // namespace sherd::models
