#include <algorithm>

#include "fsdp/engine.hpp"
#include "sherd/fsdp/fully_shard.hpp"

namespace sherd::fsdp {
namespace {

std::size_t bytes_of(const std::vector<std::int64_t>& numel, DType dtype) {
  std::size_t sum = 0;
  for (const std::int64_t n : numel) {
    sum += static_cast<std::size_t>(n) * size_of(dtype);
  }
  return sum;
}

/// Elements of all buffers, of the trainable ones, and what one rank's piece of them is.
struct Totals {
  std::size_t whole = 0;
  std::size_t whole_trainable = 0;
};

Totals totals_of(const GroupSet& set) {
  Totals totals;
  for (const FlatBuffer& buffer : set.buffers) {
    const auto numel = static_cast<std::size_t>(buffer.layout.buffer_numel());
    totals.whole += numel;
    totals.whole_trainable += buffer.trainable ? numel : 0;
  }
  return totals;
}

TrafficReport traffic_of(const Totals& totals, const StrategyRow& strategy,
                         const MixedPrecisionPolicy& policy, std::size_t world) {
  const auto sent = [&](std::size_t numel, DType dtype) {
    return numel * size_of(dtype) / world * (world - 1);
  };
  if (strategy.parameters == Level::whole) {
    return {0, 0, 2 * sent(totals.whole_trainable, policy.master_dtype)};
  }
  const std::size_t gathers = strategy.keep_after_forward ? 1 : 2;
  return {gathers * sent(totals.whole, policy.param_dtype),
          sent(totals.whole_trainable, policy.master_dtype), 0};
}

}  // namespace

ShardingPlan plan_sharding(nn::Module& module, const FullyShardOptions& options,
                           const PlanInput& input) {
  const GroupSet set = make_groups(module, options, input.world_size);
  const StrategyRow& strategy = row(options.strategy);
  const MixedPrecisionPolicy& policy = options.mixed_precision;
  const auto world = static_cast<std::size_t>(input.world_size);
  const bool whole_parameters = strategy.parameters == Level::whole || world == 1;
  const bool whole_gradients = strategy.gradients == Level::whole || world == 1;
  const Totals totals = totals_of(set);
  const std::size_t held = whole_parameters ? totals.whole : totals.whole / world;
  const std::size_t held_gradients =
      whole_gradients ? totals.whole_trainable : totals.whole_trainable / world;
  const bool rounded = policy.param_dtype != policy.master_dtype;

  ShardingPlan plan;
  plan.groups = group_reports(set);
  plan.memory.parameters = held * size_of(policy.master_dtype);
  plan.memory.compute_parameters = rounded ? held * size_of(policy.param_dtype) : 0;
  plan.memory.gradients = held_gradients * size_of(policy.master_dtype);
  plan.memory.optimizer_state = static_cast<std::size_t>(input.optimizer_slots) * held_gradients *
                                size_of(policy.master_dtype);
  if (!whole_parameters && !input.shared_memory) {
    const std::size_t ring = gather_ring(strategy, options.prefetch_depth, set.groups.size());
    plan.memory.gather_slots = bytes_of(ring_slot_numel(set, ring, false), policy.param_dtype);
    plan.gathered_per_node = plan.memory.gather_slots * static_cast<std::size_t>(input.local_size);
  }
  plan.memory.reduction_slots =
      whole_gradients ? 0 : reduction_ring_bytes(set, policy.master_dtype, kReductionRing);
  plan.traffic = traffic_of(totals, strategy, policy, world);
  return plan;
}

}  // namespace sherd::fsdp
