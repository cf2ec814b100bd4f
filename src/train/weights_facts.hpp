#pragma once

#include <vector>

#include "sherd/comm/facts.hpp"
#include "sherd/config/train_config.hpp"
#include "sherd/weights/hf_weights.hpp"

namespace sherd::train {

/// Digests of the first elements of some of a model's tensors: what tells a folder's stale copy
/// from the folder. Every rank reads its own part of the weights, so that a copy of other weights
/// on one node would make a mixture of two models. Local.
[[nodiscard]] std::vector<comm::Fact> weights_facts(const weights::HfWeights& weights,
                                                    const config::TrainConfig& config);

}  // namespace sherd::train
