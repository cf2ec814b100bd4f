#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sherd/dtensor/placement.hpp"

namespace sherd::fsdp {

/// How far a state is cut: whole, over the ranks of each node, over all ranks.
using Level = dtensor::Placement;

enum class ShardingStrategy : std::uint8_t {
  no_shard,
  shard_grad_op,
  full_shard,
  hybrid_shard,
  hybrid_shard_zero2,
  hybrid_shard_full_optim
};

/// A strategy is this row and nothing else; the engine reads rows, never names.
struct StrategyRow {
  ShardingStrategy strategy;
  std::string_view name;    ///< as in YAML
  Level parameters;         ///< at rest
  bool keep_after_forward;  ///< whole from first forward to the end of backward
  Level gradients;          ///< and of the optimizer state
  Level optimizer;
};

inline constexpr std::array<StrategyRow, 6> kStrategies{{
    {ShardingStrategy::no_shard, "NO_SHARD", Level::whole, true, Level::whole, Level::whole},
    {ShardingStrategy::shard_grad_op, "SHARD_GRAD_OP", Level::world, true, Level::world,
     Level::world},
    {ShardingStrategy::full_shard, "FULL_SHARD", Level::world, false, Level::world, Level::world},
    {ShardingStrategy::hybrid_shard, "HYBRID_SHARD", Level::node, false, Level::node, Level::node},
    {ShardingStrategy::hybrid_shard_zero2, "HYBRID_SHARD_ZERO2", Level::node, true, Level::node,
     Level::node},
    {ShardingStrategy::hybrid_shard_full_optim, "HYBRID_SHARD_FULL_OPTIM", Level::node, false,
     Level::world, Level::world},
}};

[[nodiscard]] constexpr const StrategyRow& row(ShardingStrategy strategy) {
  return kStrategies[static_cast<std::size_t>(strategy)];
}

/// Strategy by its YAML name; throws ConfigError for an unknown name, listing all.
[[nodiscard]] ShardingStrategy parse_strategy(std::string_view name);

/// What happens to a group's whole parameters between forward and backward. `node`: only the part
/// a node holds stays, so that backward gathers inside nodes alone.
enum class ReshardAfterForward : std::uint8_t { by_strategy, always, never, node };

/// What travels for a micro-batch that is not the last before the optimizer step
/// (set_is_last_backward(false)).
enum class Accumulation : std::uint8_t {
  reduce_each,       ///< everything: each micro-batch's gradient is reduced and added to the shard
  defer_all_reduce,  ///< the sum inside the node; the step across nodes waits for the last
  no_sync            ///< nothing: whole gradients are kept until the last
};

}  // namespace sherd::fsdp
