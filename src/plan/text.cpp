// The plan as text: what is cut and what travels. plan_bytes_text.cpp has the bytes.
#include <fmt/format.h>

#include <algorithm>

#include "plan/bytes_text.hpp"
#include "plan/format.hpp"
#include "sherd/mesh/device_mesh.hpp"
#include "sherd/plan/plan.hpp"

namespace sherd::plan {
namespace {

std::string header(const StepPlan& plan) {
  const PlanShape& shape = plan.shape;
  const PlanSubject& subject = plan.subject;
  const fsdp::MixedPrecisionPolicy& policy = plan.options.mixed_precision;
  std::string text = fmt::format("{}: {} parameters\n", subject.name,
                                 subject.config.model.spec.facts().parameters);
  text += fmt::format("mesh      {} node(s) x {} ranks = {} ranks{}, {}\n", shape.nodes,
                      shape.ranks_per_node, shape.ranks(),
                      shape.threads == 1 ? "" : fmt::format(" of {} threads", shape.threads),
                      shape.shared_memory ? "the ranks of a node share memory"
                                          : "every rank has memory of its own");
  text += fmt::format("strategy  {}, prefetch depth {}, {} reduction slots\n",
                      fsdp::row(plan.options.strategy).name, plan.options.prefetch_depth,
                      plan.options.reduction_slots);
  text += fmt::format(
      "types     compute {}, master {}, reduce {} in nodes and {} across, accumulate {}\n",
      to_string(policy.param_dtype), to_string(policy.master_dtype), to_string(policy.reduce()),
      to_string(policy.cross_reduce()), to_string(policy.accumulate()));
  text += fmt::format(
      "step      {} micro-batch(es) of {} x {} tokens per rank{}, activation checkpointing {}\n",
      subject.micro_batches, subject.micro_batch_sequences, subject.config.data.sequence_length,
      subject.micro_batches > 1 ? fmt::format(" ({})", to_text(plan.options.accumulation)) : "",
      checkpointing_text(subject.config.fsdp_config));
  return text;
}

std::string groups_text(const StepPlan& plan) {
  std::string text = fmt::format("\n{:<24}{:>14}{:>16}{:>16}\n", "Groups (elements)", "parameters",
                                 "buffer", "piece per rank");
  std::int64_t parameters = 0;
  for (const FoldedGroups& group : fold(plan.sharding.groups)) {
    const auto count = static_cast<std::int64_t>(group.names.size());
    text +=
        fmt::format("  {:<22}{:>14}{:>16}{:>16}{}\n", fold_names(group.names), group.one.parameters,
                    group.one.buffer_numel, group.one.piece_numel, count > 1 ? "  each" : "");
    parameters += count * group.one.parameters;
  }
  text += fmt::format("  {:<22}{:>14}\n", "all", parameters);
  return text;
}

std::string_view held_as(fsdp::Level level) {
  constexpr std::string_view kTexts[] = {"whole on every rank", "cut over the ranks of a node",
                                         "cut over all ranks"};
  return kTexts[static_cast<std::size_t>(level)];
}

std::string ranges_text(const StepPlan& plan) {
  const fsdp::StrategyRow& strategy = fsdp::row(plan.options.strategy);
  std::string text = fmt::format(
      "\nWhat a rank holds at rest\n  parameters {}, gradients {}, optimizer state {}\n",
      held_as(strategy.parameters), held_as(strategy.gradients), held_as(strategy.optimizer));
  if (strategy.optimizer == fsdp::Level::whole) {
    return text;
  }
  const int ranks = plan.shape.ranks();
  for (const FoldedGroups& group : fold(plan.sharding.groups)) {
    text += fmt::format("  {:<22}", fold_names(group.names));
    for (const int rank : {0, 1, ranks - 1}) {
      if (rank < ranks && (rank != 1 || ranks > 2) && (rank != 0 || ranks > 1)) {
        const OwnedElements owned = owned_elements(plan, group.one, rank);
        text += fmt::format("{}rank {} [{}, {})",
                            rank == 0   ? ""
                            : rank == 1 ? ", "
                                        : " .. ",
                            rank, owned.begin, owned.begin + owned.count);
      }
    }
    text += "\n";
  }
  return text;
}

std::string collectives_text(const StepPlan& plan) {
  std::string text =
      fmt::format("\n{:<12}{:<7}{:<16}{:<6}{:>6}{:>16}{:>7}  {}\n", "Collectives", "level",
                  "collective", "dtype", "ranks", "bytes", "times", "groups");
  for (const FoldedCollectives& folded : fold(plan.sharding.collectives)) {
    const fsdp::PlannedCollective& one = folded.one;
    text += fmt::format("  {:<10}{:<7}{:<16}{:<6}{:>6}{:>16}{:>7}  {}\n", to_text(one.phase),
                        to_text(one.level), to_text(one.collective), to_string(one.dtype),
                        one.ranks, one.bytes, one.times, fold_names(folded.groups));
  }
  if (plan.sharding.collectives.empty()) {
    text += "  none\n";
  }
  return text;
}

std::string slots_text(const StepPlan& plan) {
  if (plan.sharding.slots.empty()) {
    return "";
  }
  std::string text =
      fmt::format("\n{:<20}{:>18}  {:<10}{}\n", "Slots", "bytes", "one per", "groups");
  for (const fsdp::PlannedSlot& slot : plan.sharding.slots) {
    text += fmt::format("  {:<18}{:>18}  {:<10}{}\n", slot.name, slot.bytes,
                        slot.shared ? "node" : "rank", fold_names(slot.groups));
  }
  for (const SlotLifetime& life : slot_lifetimes(plan)) {
    text += fmt::format("  {}: {}\n", life.slots, life.lifetime);
  }
  return text;
}

}  // namespace

OwnedElements owned_elements(const StepPlan& plan, const fsdp::GroupReport& group, int rank) {
  const mesh::DeviceMesh mesh(plan.shape.nodes, plan.shape.ranks_per_node);
  const std::int64_t node_part = group.buffer_numel / plan.shape.ranks_per_node;
  switch (fsdp::row(plan.options.strategy).optimizer) {
    case fsdp::Level::whole:
      return {0, group.buffer_numel};
    case fsdp::Level::node:
      return {mesh.coord(rank).local * node_part, node_part};
    case fsdp::Level::world:
      break;
  }
  return {mesh.piece(rank) * group.piece_numel, group.piece_numel};
}

std::vector<SlotLifetime> slot_lifetimes(const StepPlan& plan) {
  const bool kept = fsdp::row(plan.options.strategy).keep_after_forward;
  std::vector<SlotLifetime> lifetimes;
  const auto has = [&](const char* what) {
    for (const fsdp::PlannedSlot& slot : plan.sharding.slots) {
      if (slot.name.rfind(what, 0) == 0) {
        return true;
      }
    }
    return false;
  };
  if (has("gather")) {
    lifetimes.push_back(
        {"gather", kept ? "from a group's gather before forward to the end of its backward"
                        : "from a group's gather to the end of its forward, and again around its "
                          "backward; the last group of forward stays for backward"});
  }
  if (has("reduction")) {
    lifetimes.push_back({"reduction",
                         "from a group's first gradient in backward until its sum in the node has "
                         "been read"});
  }
  if (has("cross")) {
    lifetimes.push_back(
        {"cross", "from the sum in the node until the sum over nodes has been added up"});
  }
  return lifetimes;
}

std::string plan_text(const StepPlan& plan) {
  return header(plan) + groups_text(plan) + ranges_text(plan) + collectives_text(plan) +
         slots_text(plan) + bytes_table(plan) + traffic_table(plan) + activations_table(plan);
}

std::string plan_text(const runtime::Topology& topology, const config::TrainConfig& config) {
  const bool shared =
      config.fsdp_config.comm_backend != "mpi" && config.fsdp_config.device == "cpu";
  const mesh::DeviceMesh mesh(topology.node_of_rank);  // refuses nodes of unequal size, as training
  const std::vector<int>& threads = topology.threads_of_rank;
  const int most = threads.empty() ? 1 : *std::max_element(threads.begin(), threads.end());
  const PlanShape shape{mesh.nodes(), mesh.local_size(), shared, most};
  return plan_text(plan_step(plan_subject(config, {}, shape), shape));
}

}  // namespace sherd::plan
