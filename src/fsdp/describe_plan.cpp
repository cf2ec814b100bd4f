// A plan in the terms a person reads: the collectives of a step and the slots groups take turns in.
#include <fmt/format.h>

#include <utility>

#include "fsdp/describe_plan.hpp"
#include "sherd/fsdp/sharding_plan.hpp"

namespace sherd::fsdp {
namespace {

/// Lists the collectives of a step in the order of the groups.
class CollectiveLister {
 public:
  CollectiveLister(const GroupSet& set, const StatePlan& plan, int micro_batches)
      : set_(set), plan_(plan), micro_batches_(micro_batches) {}

  std::vector<PlannedCollective> list() && {
    for (std::size_t g = 0; g < set_.groups.size(); ++g) {
      gathers(Phase::forward, g, forward_gathers());
    }
    for (std::size_t g = set_.groups.size(); g-- > 0;) {
      gathers(Phase::backward, g, backward_gathers(g));
      reductions(g);
    }
    for (std::size_t g = 0; g < set_.groups.size(); ++g) {
      updates(g);
    }
    return std::move(listed_);
  }

 private:
  std::int64_t forward_gathers() const {
    return plan_.options.reshard_after_backward ? micro_batches_ : 1;
  }
  /// What is kept after forward is there; so is the last group of forward.
  std::int64_t backward_gathers(std::size_t group) const {
    const bool kept = plan_.keep[group] || group + 1 == set_.groups.size();
    return kept ? 0 : micro_batches_;
  }

  void add(Phase phase, LinkLevel level, Collective collective, std::size_t buffer, DType dtype,
           std::int64_t numel, std::int64_t times) {
    const int ranks = level == LinkLevel::node ? plan_.local_size : plan_.nodes;
    if (ranks > 1 && times > 0) {
      listed_.push_back({phase, level, collective, set_.groups[set_.buffers[buffer].group].name,
                         dtype, ranks, static_cast<std::size_t>(numel) * size_of(dtype), times});
    }
  }

  void gathers(Phase phase, std::size_t group, std::int64_t times) {
    if (plan_.gather == GatherKind::whole) {
      return;
    }
    const bool fetches =
        plan_.gathers_across() && plan_.gather != GatherKind::resident && !plan_.keep_blocks;
    for (const std::size_t b : set_.groups[group].buffers) {
      const FlatBuffer& buffer = set_.buffers[b];
      const std::int64_t piece = buffer.layout.piece_numel();
      if (fetches) {
        add(phase, LinkLevel::cross, Collective::all_gather, b, buffer.compute, piece, times);
      }
      add(phase, LinkLevel::node, Collective::all_gather, b, buffer.compute, piece * plan_.nodes,
          times);
    }
  }

  void reductions(std::size_t group) {
    const bool once =
        plan_.cut == Level::whole || plan_.options.accumulation == Accumulation::no_sync;
    for (const std::size_t b : set_.groups[group].buffers) {
      if (set_.buffers[b].trainable && plan_.ranks() > 1) {
        const std::int64_t inside = once ? 1 : micro_batches_;
        reduce(b, inside, plan_.defers() ? 1 : inside);
      }
    }
  }

  void reduce(std::size_t b, std::int64_t inside, std::int64_t across) {
    const std::int64_t piece = set_.buffers[b].layout.piece_numel();
    const std::int64_t block = piece * plan_.nodes;
    const DType near = plan_.policy().reduce();
    const DType far = plan_.cut == Level::whole ? near : plan_.policy().cross_reduce();
    if (plan_.cut == Level::whole && plan_.nodes == 1) {
      add(Phase::backward, LinkLevel::node, Collective::all_reduce, b, near,
          set_.buffers[b].numel(), inside);
      return;
    }
    add(Phase::backward, LinkLevel::node, Collective::reduce_scatter, b, near, block, inside);
    if (plan_.cut == Level::world) {
      add(Phase::backward, LinkLevel::cross, Collective::reduce_scatter, b, far, piece, across);
    } else {
      add(Phase::backward, LinkLevel::cross, Collective::all_reduce, b, far, block, across);
    }
    if (plan_.cut == Level::whole) {
      add(Phase::backward, LinkLevel::node, Collective::all_gather, b, near, block, inside);
    }
  }

  void updates(std::size_t group) {
    const bool sends =
        plan_.gathers_across() && (plan_.gather == GatherKind::resident || plan_.keep_blocks);
    for (const std::size_t b : set_.groups[group].buffers) {
      const FlatBuffer& buffer = set_.buffers[b];
      if (sends && buffer.trainable) {
        add(Phase::update, LinkLevel::cross, Collective::all_gather, b, buffer.compute,
            buffer.layout.piece_numel(), 1);
      }
    }
  }

  const GroupSet& set_;
  const StatePlan& plan_;
  std::int64_t micro_batches_;
  std::vector<PlannedCollective> listed_;
};

void add_ring(std::vector<PlannedSlot>& slots, const char* what, const GroupSet& set,
              std::size_t ring, const std::vector<std::size_t>& bytes, bool shared) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    PlannedSlot slot{i == ring ? fmt::format("{} root", what) : fmt::format("{} {}", what, i),
                     bytes[i],
                     shared,
                     {}};
    for (std::size_t g = 0; g < set.groups.size(); ++g) {
      if (ring_slot(g, ring) == i) {
        slot.groups.push_back(set.groups[g].name);
      }
    }
    slots.push_back(std::move(slot));
  }
}

std::vector<PlannedSlot> list_slots(const GroupSet& set, const StatePlan& plan) {
  std::vector<PlannedSlot> slots;
  if (plan.gather == GatherKind::ring || plan.gather == GatherKind::separate) {
    add_ring(slots, "gather", set, plan.gather_ring, gather_slot_bytes(set, plan.gather_ring),
             plan.gather == GatherKind::ring);
  }
  if (plan.cut != Level::whole) {
    std::vector<std::size_t> whole;
    std::vector<std::size_t> across;
    for (const std::int64_t numel : gradient_slot_numel(set, plan.reduction_ring)) {
      const auto elements = static_cast<std::size_t>(numel);
      whole.push_back(elements * size_of(plan.policy().master_dtype));
      across.push_back(elements / static_cast<std::size_t>(plan.local_size) *
                       size_of(plan.policy().cross_reduce()));
    }
    add_ring(slots, "reduction", set, plan.reduction_ring, whole, false);
    if (plan.nodes > 1) {
      add_ring(slots, "cross", set, plan.reduction_ring, across, false);
    }
  }
  return slots;
}

std::size_t gathered_per_node(const StatePlan& plan, const MemoryReport& memory) {
  return memory.gather_slots * static_cast<std::size_t>(plan.local_size);
}

}  // namespace

ShardingPlan describe_plan(const GroupSet& set, const StatePlan& plan, int optimizer_slots,
                           int micro_batches) {
  ShardingPlan described;
  described.groups = group_reports(set);
  described.memory = planned_memory(set, plan, optimizer_slots);
  described.gathered_per_node = gathered_per_node(plan, described.memory);
  described.collectives = CollectiveLister(set, plan, micro_batches).list();
  described.slots = list_slots(set, plan);
  for (const PlannedCollective& one : described.collectives) {
    for (std::int64_t i = 0; i < one.times; ++i) {
      described.traffic.add(one.level, one.collective, one.ranks, one.bytes);
    }
  }
  return described;
}

ShardingPlan plan_sharding(nn::Module& module, const FullyShardOptions& options,
                           const PlanInput& input) {
  const GroupSet set = make_groups(module, options, input.nodes * input.local_size);
  const StatePlan plan = make_state_plan(set, options, input.nodes, input.local_size,
                                         input.shared_memory, MemoryKind::host);
  return describe_plan(set, plan, input.optimizer_slots, input.micro_batches);
}

}  // namespace sherd::fsdp
