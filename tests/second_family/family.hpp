#pragma once

#include "sherd/models/family.hpp"

namespace sherd::second_family {

/// A decoder in the manner of GPT-2: LayerNorm before attention and MLP, learned positions, GELU,
/// biases everywhere, a head of its own.
[[nodiscard]] models::ModelFamily make_family();

}  // namespace sherd::second_family
