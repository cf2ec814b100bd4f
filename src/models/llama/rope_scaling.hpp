#pragma once

#include <cstdint>
#include <vector>

#include "sherd/models/llama.hpp"

namespace sherd::models {

/// Throws ConfigError naming the field that makes no sense.
void check_rope_scaling(const RopeScaling& scaling);

/// How far each pair of a head's elements turns from one position to the next.
[[nodiscard]] std::vector<double> scaled_frequencies(std::int64_t head_dim, double theta,
                                                     const RopeScaling& scaling);

}  // namespace sherd::models
