#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sherd::fsdp {

/// How far a state is cut: whole, over the ranks of each node, over all ranks.
enum class Level : std::uint8_t { whole, node, world };

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
  Level gradients;
  Level optimizer;
  bool available;  ///< whether this version's engine executes it
};

inline constexpr std::array<StrategyRow, 6> kStrategies{{
    {ShardingStrategy::no_shard, "NO_SHARD", Level::whole, true, Level::whole, Level::whole, true},
    {ShardingStrategy::shard_grad_op, "SHARD_GRAD_OP", Level::world, true, Level::world,
     Level::world, true},
    {ShardingStrategy::full_shard, "FULL_SHARD", Level::world, false, Level::world, Level::world,
     true},
    {ShardingStrategy::hybrid_shard, "HYBRID_SHARD", Level::node, false, Level::node, Level::node,
     false},
    {ShardingStrategy::hybrid_shard_zero2, "HYBRID_SHARD_ZERO2", Level::node, true, Level::node,
     Level::node, false},
    {ShardingStrategy::hybrid_shard_full_optim, "HYBRID_SHARD_FULL_OPTIM", Level::node, false,
     Level::world, Level::world, false},
}};

[[nodiscard]] constexpr const StrategyRow& row(ShardingStrategy strategy) {
  return kStrategies[static_cast<std::size_t>(strategy)];
}

/// Strategy by its YAML name; throws ConfigError for an unknown name (listing all) and for one this
/// version cannot execute yet.
[[nodiscard]] ShardingStrategy parse_strategy(std::string_view name);

}  // namespace sherd::fsdp
