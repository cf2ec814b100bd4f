#pragma once

#include "models/llama/hf_reader.hpp"
#include "sherd/models/family.hpp"
#include "sherd/models/llama.hpp"

namespace sherd::models {

/// Throws ConfigError, a line for each, when a config.json has keys that ask for other arithmetic
/// than Llama's: the weights would be run wrongly without a word. Values that change nothing pass.
/// For plans only those that change the sizes are refused. Local.
void refuse_other_arithmetic(const HfReader& reader, const LlamaConfig& config, ReadFor purpose);

}  // namespace sherd::models
