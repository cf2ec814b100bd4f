#pragma once

#include <memory>

#include "sherd/config/train_config.hpp"
#include "sherd/fsdp/fully_shard.hpp"
#include "sherd/optim/optimizer.hpp"

namespace sherd::config {

/// What a configuration says, in the terms of the modules that do it.
[[nodiscard]] std::shared_ptr<nn::Module> make_model(const TrainConfig& config);
[[nodiscard]] fsdp::FullyShardOptions fsdp_options(const TrainConfig& config);
[[nodiscard]] std::unique_ptr<optim::Optimizer> make_optimizer(const OptimizerConfig& config,
                                                               ShardedParameters& parameters);
/// Tensors of state the optimizer keeps for each parameter.
[[nodiscard]] int optimizer_slots(const OptimizerConfig& config);

}  // namespace sherd::config
