#pragma once

#include "sherd/models/family.hpp"
#include "sherd/models/llama.hpp"

namespace sherd::models {

/// What a Llama's forward keeps for its backward, tensor by tensor (docs/plan.md derives the rows).
[[nodiscard]] KeptTables kept_tensors(const LlamaConfig& model, const MicroBatch& batch);

}  // namespace sherd::models
