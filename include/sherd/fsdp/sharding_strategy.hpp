#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
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

/// A strategy is this row and nothing else; the engine reads rows, never names. Which rows there
/// can be: is_supported_row().
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

/// Whether the engine carries a row out as it stands. A rank updates what it holds the gradient of,
/// so gradients and optimizer state are cut alike; parameters at rest are cut like them or, where
/// those are cut over all ranks, a node may keep them whole between its ranks; and what is never
/// cut is there all the time.
[[nodiscard]] constexpr bool is_supported_row(const StrategyRow& row) {
  const bool cut_alike = row.gradients == row.optimizer;
  const bool held_by_node = row.parameters == Level::node && row.optimizer == Level::world;
  const bool at_hand = row.parameters != Level::whole || row.keep_after_forward;
  return cut_alike && (row.parameters == row.optimizer || held_by_node) && at_hand;
}

/// Whether every row is supported and stands at its strategy's number, where row() looks for it.
[[nodiscard]] constexpr bool are_supported_rows(std::span<const StrategyRow> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!is_supported_row(rows[i]) || static_cast<std::size_t>(rows[i].strategy) != i) {
      return false;
    }
  }
  return true;
}

static_assert(are_supported_rows(kStrategies),
              "a row of kStrategies asks for what the engine does not do: see is_supported_row()");

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
