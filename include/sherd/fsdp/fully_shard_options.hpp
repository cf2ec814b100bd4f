#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sherd/fsdp/group_layout.hpp"
#include "sherd/fsdp/mixed_precision.hpp"
#include "sherd/fsdp/sharding_strategy.hpp"
#include "sherd/nn/module.hpp"

namespace sherd::fsdp {

/// What the engine does with a parameter it does not shard: leaves it and its gradient to the
/// caller, or sums its gradient over all ranks at the end of a last backward. Either way every rank
/// holds all of it, outside every group, optimizer and checkpoint.
enum class Ignore : std::uint8_t { no, leave, all_reduce };

/// What one group does differently from the rest.
struct GroupOverride {
  std::optional<ReshardAfterForward> reshard_after_forward = std::nullopt;
};

/// Where what a rank keeps between steps lives.
struct OffloadPolicy {
  /// Masters and main gradients live apart from what forward reads, in memory of `allocate`; the
  /// optimizer refreshes forward's copy shard by shard. Costs that copy where dtypes are equal.
  bool params = false;
  bool optimizer_state = false;  ///< so does the optimizer's state
  /// A zero-filled 1-D tensor the host can work on (pinned memory, a mapped file); default: host
  /// memory.
  std::function<Tensor(const Shape& shape, DType dtype)> allocate;
};

struct FullyShardOptions {
  ShardingStrategy strategy = ShardingStrategy::full_shard;
  MixedPrecisionPolicy mixed_precision;
  ReshardAfterForward reshard_after_forward = ReshardAfterForward::by_strategy;
  Accumulation accumulation = Accumulation::reduce_each;
  bool reshard_after_backward = true;  ///< false: groups kept after forward stay whole until the
                                       ///< last backward of a step
  int prefetch_depth = 1;              ///< groups gathered ahead, in both directions; 0 to 8
  int reduction_slots = 2;             ///< whole gradients on their way, beside the root's; 1 to 8
  OffloadPolicy offload;
  std::uint64_t seed = 0;  ///< of the initial values
  /// Which modules become groups of their own; default: every element of a ModuleList. What no
  /// group claims is the root group.
  std::function<bool(const std::string& name, const nn::Module& module)> wrap;
  /// Per group ("" is the root); default: none.
  std::function<GroupOverride(const std::string& group)> group_override;
  /// Which parameters are left out; default: none.
  std::function<Ignore(const std::string& name)> ignore;
  /// The smallest run of elements of a parameter that one rank must hold whole; default: one
  /// element.
  std::function<ShardUnit(const std::string& name, const Shape& shape)> shard_unit;
  /// Gives elements [first, first + out.numel()) of a parameter its first values (1-D, master
  /// dtype), called on each rank for what it holds; default: the parameter's InitSpec.
  std::function<void(const std::string& name, std::int64_t first, const Tensor& out)> load;
};

}  // namespace sherd::fsdp
