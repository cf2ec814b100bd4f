// From options, groups and mesh to a plan: what is refused, what is decided, what it takes.
#include "fsdp/state_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sherd/base/check.hpp"

namespace sherd::fsdp {
namespace {

void check_dtypes(const MixedPrecisionPolicy& policy) {
  const DType master = policy.master_dtype;
  const auto is_one_of = [](DType dtype, std::initializer_list<DType> known) {
    return std::find(known.begin(), known.end(), dtype) != known.end();
  };
  const auto require = [&](bool known, const char* what, DType dtype, const char* instead) {
    validate(known, fmt::format("{} {} with master_dtype {} is not supported. Try: {}", what,
                                to_string(dtype), to_string(master), instead));
  };
  require(is_one_of(master, {DType::f32, DType::f64}), "master_dtype", master, "f32");
  const bool wide = master == DType::f64;
  require(wide ? policy.param_dtype == DType::f64
               : is_one_of(policy.param_dtype, {DType::f32, DType::bf16, DType::f16}),
          "param_dtype", policy.param_dtype, wide ? "f64" : "f32, bf16 or f16");
  for (const auto& [name, dtype] : {std::pair{"reduce_dtype", policy.reduce()},
                                    {"cross_reduce_dtype", policy.cross_reduce()}}) {
    require(dtype == master || (!wide && is_one_of(dtype, {DType::bf16, DType::f16})), name, dtype,
            wide ? "f64" : "f32, bf16 or f16");
  }
  require(policy.accumulate() == master || (!wide && policy.accumulate() == DType::bf16),
          "accumulate_dtype", policy.accumulate(), wide ? "f64" : "f32 or bf16");
}

void check_ranges(const FullyShardOptions& options) {
  expect(options.prefetch_depth >= 0 && options.prefetch_depth <= 8,
         "prefetch_depth must be 0 to 8");
  expect(options.reduction_slots >= 1 && options.reduction_slots <= 8,
         "reduction_slots must be 1 to 8");
}

ReshardAfterForward reshard_of(const FullyShardOptions& options, const std::string& group) {
  if (options.group_override) {
    if (const auto own = options.group_override(group).reshard_after_forward) {
      return *own;
    }
  }
  return options.reshard_after_forward;
}

/// Whether a group stays whole between forward and backward. The root always does.
bool keeps(const StrategyRow& row, ReshardAfterForward reshard, std::size_t group) {
  if (group == 0) {
    return true;
  }
  return reshard == ReshardAfterForward::by_strategy ? row.keep_after_forward
                                                     : reshard == ReshardAfterForward::never;
}

GatherKind gather_kind(const StatePlan& plan, bool keep_blocks, bool keep_groups) {
  if (plan.cut == Level::whole) {
    return GatherKind::whole;
  }
  if (!plan.shared) {
    return GatherKind::separate;
  }
  return plan.nodes == 1 || keep_blocks || keep_groups ? GatherKind::resident : GatherKind::ring;
}

}  // namespace

StatePlan make_state_plan(const GroupSet& set, const FullyShardOptions& options, int nodes,
                          int local_size, bool shared, MemoryKind where) {
  check_dtypes(options.mixed_precision);
  check_ranges(options);
  StatePlan plan{.options = options,
                 .nodes = nodes,
                 .local_size = local_size,
                 .shared = shared,
                 .where = where};
  plan.cut = plan.ranks() == 1 ? Level::whole : plan.row().optimizer;

  const std::size_t blocks = std::max<std::size_t>(set.groups.size(), 2) - 1;
  bool node_level = plan.row().parameters == Level::node;
  bool any_kept = false;
  for (std::size_t g = 0; g < set.groups.size(); ++g) {
    const ReshardAfterForward reshard = reshard_of(options, set.groups[g].name);
    plan.keep.push_back(keeps(plan.row(), reshard, g));
    any_kept = any_kept || (g != 0 && plan.keep[g]);
    node_level = node_level || reshard == ReshardAfterForward::node;
  }
  plan.gather = gather_kind(plan, node_level, any_kept);
  plan.keep_blocks = plan.gather == GatherKind::separate && node_level && plan.gathers_across();
  plan.gather_ring =
      any_kept ? blocks : std::min(blocks, static_cast<std::size_t>(options.prefetch_depth) + 1);
  plan.reduction_ring = plan.options.accumulation == Accumulation::no_sync
                            ? blocks
                            : std::min(blocks, static_cast<std::size_t>(options.reduction_slots));
  validate(
      plan.options.accumulation != Accumulation::defer_all_reduce ||
          plan.row().gradients != Level::whole,
      fmt::format("accumulation defer_all_reduce with {} (its gradients wait whole for the last "
                  "micro-batch as it is). Try: reduce_each, or HYBRID_SHARD",
                  plan.row().name));
  const bool all_kept =
      std::all_of(plan.keep.begin(), plan.keep.end(), [](bool kept) { return kept; });
  validate(plan.options.reshard_after_backward || all_kept,
           "reshard_after_backward false with groups that are given back after forward (they would "
           "be gathered again anyway). Try: reshard_after_forward never, or SHARD_GRAD_OP");
  return plan;
}

namespace {

struct Sums {
  std::size_t masters = 0;    // bytes of whole buffers as masters
  std::size_t computes = 0;   // as forward reads them
  std::size_t rounded = 0;    // of those, where they are copies
  std::size_t trainable = 0;  // elements
};

Sums sums_of(const GroupSet& set) {
  Sums sums;
  for (const FlatBuffer& buffer : set.buffers) {
    const auto numel = static_cast<std::size_t>(buffer.numel());
    sums.masters += numel * size_of(buffer.master);
    sums.computes += buffer.compute_bytes();
    sums.rounded += buffer.rounded() ? buffer.compute_bytes() : 0;
    sums.trainable += buffer.trainable ? numel : 0;
  }
  return sums;
}

/// Whole parameters and node blocks beyond what is held at rest.
std::size_t planned_gather_slots(const GroupSet& set, const StatePlan& plan, const Sums& sums) {
  const auto local_size = static_cast<std::size_t>(plan.local_size);
  const std::vector<std::size_t> slots = gather_slot_bytes(set, plan.gather_ring);
  const std::size_t ring = std::accumulate(slots.begin(), slots.end(), std::size_t{0});
  const std::size_t block = sums.computes / local_size;
  const std::size_t piece = block / static_cast<std::size_t>(plan.nodes);
  switch (plan.gather) {
    case GatherKind::whole:
      return 0;
    case GatherKind::resident:
      return plan.gathers_across() ? block - piece : 0;
    case GatherKind::ring:
      return ring / local_size;
    case GatherKind::separate:
      break;
  }
  return ring + (plan.keep_blocks ? block : 0);
}

}  // namespace

MemoryReport planned_memory(const GroupSet& set, const StatePlan& plan, int optimizer_slots) {
  const Sums sums = sums_of(set);
  const auto nodes = static_cast<std::size_t>(plan.nodes);
  const auto local_size = static_cast<std::size_t>(plan.local_size);
  const std::size_t parts = plan.cut == Level::whole  ? 1
                            : plan.cut == Level::node ? local_size
                                                      : local_size * nodes;
  const DType master = plan.policy().master_dtype;
  MemoryReport memory;
  memory.parameters = sums.masters / parts;
  memory.compute_parameters = sums.rounded / parts;
  memory.gradients = sums.trainable / parts * size_of(plan.main_dtype());
  memory.optimizer_state =
      static_cast<std::size_t>(optimizer_slots) * (sums.trainable / parts) * size_of(master);
  memory.gather_slots = planned_gather_slots(set, plan, sums);
  if (plan.cut != Level::whole) {
    for (const std::int64_t numel : gradient_slot_numel(set, plan.reduction_ring)) {
      const auto slot = static_cast<std::size_t>(numel);
      memory.reduction_slots += slot * size_of(master);
      memory.cross_slots +=
          nodes > 1 ? slot / local_size * size_of(plan.policy().cross_reduce()) : 0;
    }
    memory.partial_gradients =
        plan.defers() ? sums.trainable / local_size * size_of(plan.policy().accumulate()) : 0;
  }
  for (const IgnoredParameter& ignored : set.ignored) {
    const auto& value = ignored.parameter.value;
    const auto numel = static_cast<std::size_t>(value.shape().numel());
    const DType dtype = is_floating(value.dtype()) ? plan.policy().param_dtype : value.dtype();
    memory.ignored += numel * size_of(dtype);
    memory.ignored += value.requires_grad() ? numel * size_of(master) : 0;
  }
  return memory;
}

}  // namespace sherd::fsdp
