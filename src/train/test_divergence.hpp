#pragma once

#include <cstdint>

#include "sherd/fsdp/fully_shard.hpp"

namespace sherd::train {

/// For tests of what happens when ranks do not do the same: SHERD_TEST_DIVERGE=what:rank:step makes
/// that rank, in that step (counted from 1),
enum class Divergence : std::uint8_t {
  none,
  skip_layer,         ///< leave the first element of the model's "layers" out of its forward
  extra_micro_batch,  ///< run forward and backward once more than the others
  nan                 ///< have a loss that is not a number
};

/// What this rank is told to do in this step. Local. Throws ConfigError when the variable is none
/// of the above.
[[nodiscard]] Divergence told_to_diverge(int rank, std::int64_t step);

/// The model's forward without its first layer. Collective like the model's.
[[nodiscard]] nn::Variable forward_without_a_layer(fsdp::ShardedModel& model,
                                                   const nn::Variable& input);

}  // namespace sherd::train
