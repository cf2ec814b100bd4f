#include <fmt/format.h>

#include <string>

#include "sherd/fsdp/fully_shard.hpp"
#include "sherd/train/trainer.hpp"
#include "train/trainer_options.hpp"

namespace sherd::train {
namespace {

std::string bytes_text(std::size_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024.0 && unit < 4) {
    value /= 1024.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} {}", value, kUnits[unit]);
}

std::string row(const char* label, std::size_t bytes) {
  return fmt::format("  {:<34}{:>16}  {:>12}\n", label, bytes, bytes_text(bytes));
}

std::string groups_text(const fsdp::ShardingPlan& plan) {
  std::string text = fmt::format("  {:<24}{:>14}{:>16}{:>16}\n", "group", "parameters", "buffer",
                                 "piece per rank");
  for (const fsdp::GroupReport& group : plan.groups) {
    text += fmt::format("  {:<24}{:>14}{:>16}{:>16}\n", group.name.empty() ? "root" : group.name,
                        group.parameters, group.buffer_numel, group.piece_numel);
  }
  return text;
}

}  // namespace

std::string plan_text(const runtime::Topology& topology, const TrainConfig& config) {
  const auto model = make_model(config);
  const bool shared = topology.nodes == 1 && config.fsdp_config.comm_backend != "mpi";
  const fsdp::ShardingPlan plan =
      fsdp::plan_sharding(*model, fsdp_options(config),
                          {.world_size = topology.size,
                           .shared_memory = shared,
                           .local_size = topology.ranks_per_node.front(),
                           .optimizer_slots = optimizer_slots(config.optimizer)});
  const fsdp::MemoryReport& memory = plan.memory;
  const std::size_t total = memory.parameters + memory.compute_parameters + memory.gradients +
                            memory.optimizer_state + memory.gather_slots + memory.reduction_slots;
  std::string text = fmt::format(
      "{} parameters, {} on {} rank(s) of {} node(s), {}\n\nGroups (elements)\n",
      config.model.llama.parameter_count(), fsdp::row(config.fsdp_config.sharding_strategy).name,
      topology.size, topology.nodes,
      shared ? "gathered in memory the node shares" : "gathered into slots of each rank");
  text += groups_text(plan);
  text += "\nBytes per rank (without activations)\n";
  text += row("parameters (master)", memory.parameters);
  text += row("parameters (compute dtype)", memory.compute_parameters);
  text += row("gradients", memory.gradients);
  text += row("optimizer state", memory.optimizer_state);
  text += row("gather slots", memory.gather_slots);
  text += row("reduction slots", memory.reduction_slots);
  text += row("total", total);
  text += "\nBytes per node beyond the shards\n";
  text += row("gathered parameters, at most", plan.gathered_per_node);
  text += "\nBytes each rank moves per step and micro-batch\n";
  text += row("all_gather", plan.traffic.all_gather);
  text += row("reduce_scatter", plan.traffic.reduce_scatter);
  text += row("all_reduce", plan.traffic.all_reduce);
  return text;
}

}  // namespace sherd::train
