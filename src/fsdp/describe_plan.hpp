#pragma once

#include "fsdp/state_plan.hpp"
#include "sherd/fsdp/sharding_plan.hpp"

namespace sherd::fsdp {

/// A plan in the terms a person reads.
[[nodiscard]] ShardingPlan describe_plan(const GroupSet& set, const StatePlan& plan,
                                         int optimizer_slots, int micro_batches);

}  // namespace sherd::fsdp
