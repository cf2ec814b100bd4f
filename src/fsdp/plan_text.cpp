// The plan and the bytes a model holds, as tables.
#include <fmt/format.h>

#include "sherd/fsdp/fully_shard.hpp"

namespace sherd::fsdp {
namespace {

constexpr const char* kPhases[] = {"forward", "backward", "update"};
constexpr const char* kLevels[] = {"node", "cross"};
constexpr const char* kCollectives[] = {"all_gather", "reduce_scatter", "all_reduce"};

const char* shown(const std::string& group) { return group.empty() ? "root" : group.c_str(); }

}  // namespace

std::string print_sharding_plan(const ShardingPlan& plan) {
  std::string text = fmt::format("{:<24}{:>14}{:>14}{:>16}{:>16}\n", "group", "parameters",
                                 "trainable", "buffer", "piece");
  for (const GroupReport& group : plan.groups) {
    text += fmt::format("{:<24}{:>14}{:>14}{:>16}{:>16}\n", shown(group.name), group.parameters,
                        group.trainable, group.buffer_numel, group.piece_numel);
  }
  text += fmt::format("\n{:<10}{:<7}{:<16}{:<24}{:<6}{:>6}{:>16}{:>7}\n", "phase", "level",
                      "collective", "group", "dtype", "ranks", "bytes", "times");
  for (const PlannedCollective& one : plan.collectives) {
    text += fmt::format("{:<10}{:<7}{:<16}{:<24}{:<6}{:>6}{:>16}{:>7}\n",
                        kPhases[static_cast<int>(one.phase)], kLevels[static_cast<int>(one.level)],
                        kCollectives[static_cast<int>(one.collective)], shown(one.group),
                        to_string(one.dtype), one.ranks, one.bytes, one.times);
  }
  text += fmt::format("\n{:<24}{:>16}  {:<9}{}\n", "slot", "bytes", "once per", "groups");
  for (const PlannedSlot& slot : plan.slots) {
    text += fmt::format("{:<24}{:>16}  {:<9}{}\n", slot.name, slot.bytes,
                        slot.shared ? "node" : "rank", slot.groups.size());
  }
  text += "\nbytes of one rank\n";
  for (const auto& [kind, bytes] : by_kind(plan.memory)) {
    text += fmt::format("  {:<22}{:>16}\n", kind, bytes);
  }
  text += fmt::format("  {:<22}{:>16}\n", "total", total_bytes(plan.memory));
  return text;
}

std::string memory_summary(const ShardedModel& model, std::size_t optimizer_state_bytes) {
  MemoryReport held = model.memory();
  held.optimizer_state = optimizer_state_bytes;
  MemoryReport planned = model.plan().memory;
  planned.optimizer_state = optimizer_state_bytes;
  const auto now = by_kind(held);
  const auto then = by_kind(planned);
  std::string text = fmt::format("{:<22}{:>16}{:>16}\n", "bytes of this rank", "held", "planned");
  for (std::size_t i = 0; i < now.size(); ++i) {
    text += fmt::format("{:<22}{:>16}{:>16}\n", now[i].first, now[i].second, then[i].second);
  }
  text += fmt::format("{:<22}{:>16}{:>16}\n", "total", total_bytes(held), total_bytes(planned));
  return text;
}

}  // namespace sherd::fsdp
