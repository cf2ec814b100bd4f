#include "plan/bytes_text.hpp"

#include <fmt/format.h>

#include <array>

#include "plan/format.hpp"

namespace sherd::plan {
namespace {

constexpr std::array<fsdp::Collective, 3> kCollectives = {
    fsdp::Collective::all_gather, fsdp::Collective::reduce_scatter, fsdp::Collective::all_reduce};
constexpr std::array<fsdp::LinkLevel, 2> kLevels = {fsdp::LinkLevel::node, fsdp::LinkLevel::cross};

std::string row(const std::string& label, std::size_t bytes, std::size_t replicated) {
  return fmt::format("  {:<28}{:>18}  {:>11}{:>18}  {:>11}\n", label, bytes, bytes_text(bytes),
                     replicated, bytes_text(replicated));
}

std::string head(const std::string& title, const StepPlan& plan) {
  return fmt::format("\n{:<30}{:>31}{:>31}\n", title, fsdp::row(plan.options.strategy).name,
                     "NO_SHARD (DDP)");
}

std::string kept_row(const KeptTensors& kept) {
  return fmt::format("  {:<34}{:<16}{:>16}  {:>11}\n", kept.what, kept.formula, kept.bytes,
                     bytes_text(kept.bytes));
}

}  // namespace

std::string bytes_table(const StepPlan& plan) {
  std::string text = head("Bytes per rank", plan);
  const auto sharded = by_kind(plan.sharding.memory);
  const auto whole = by_kind(plan.replicated.memory);
  for (std::size_t i = 0; i < sharded.size(); ++i) {
    text += row(sharded[i].first, sharded[i].second, whole[i].second);
  }
  text += row("at rest", total_bytes(plan.sharding.memory), total_bytes(plan.replicated.memory));
  text += row("activations, at most", plan.activations.peak, plan.activations.peak);
  text += row("total", plan.bytes_per_rank(), plan.replicated_bytes_per_rank());
  const auto ranks = static_cast<std::size_t>(plan.shape.ranks_per_node);
  text += head("Bytes per node", plan);
  text += row("gathered beyond the shards", plan.sharding.gathered_per_node,
              plan.replicated.gathered_per_node);
  text += row("total of its ranks", plan.bytes_per_rank() * ranks,
              plan.replicated_bytes_per_rank() * ranks);
  return text;
}

std::string traffic_table(const StepPlan& plan) {
  std::string text = head("Bytes a rank sends per step", plan);
  for (const fsdp::LinkLevel level : kLevels) {
    const char* where = level == fsdp::LinkLevel::node ? "in the node" : "across";
    for (const fsdp::Collective collective : kCollectives) {
      const fsdp::Traffic& sharded = plan.sharding.traffic.at(level, collective);
      const fsdp::Traffic& whole = plan.replicated.traffic.at(level, collective);
      if (sharded.calls > 0 || whole.calls > 0) {
        text += row(fmt::format("{} {}", where, to_text(collective)), sharded.bytes, whole.bytes);
      }
    }
    text += row(fmt::format("{}, all", where), plan.sharding.traffic.bytes(level),
                plan.replicated.traffic.bytes(level));
  }
  return text;
}

std::string activations_table(const StepPlan& plan) {
  const models::DecoderFacts model = plan.subject.config.model.spec.facts();
  const auto layers = static_cast<std::size_t>(model.blocks);
  std::string text = "\nActivations of a micro-batch (docs/plan.md has the formulas)\n";
  for (const KeptTensors& kept : plan.kept.block) {
    text += kept_row(kept);
  }
  text += kept_row({"each block", "", plan.kept.block_bytes});
  text += kept_row({fmt::format("all {} blocks", layers), "", layers * plan.kept.block_bytes});
  for (const KeptTensors& kept : plan.kept.root) {
    text += kept_row(kept);
  }
  const auto peak = [&](const char* what, const ActivationPlan& activations) {
    text += fmt::format("  {:<34}{:<16}{:>16}  {:>11}  {}\n", what, "", activations.peak,
                        bytes_text(activations.peak), activations.peak_at);
  };
  text += "  at most, with activation checkpointing\n";
  peak("  off", plan.kept);
  peak("  reentrant", plan.checkpointed[0]);
  peak("  non_reentrant", plan.checkpointed[1]);
  if (plan.activations_through_f32 != plan.activations.peak) {
    text += kept_row({"where bf16 products go through f32", "", plan.activations_through_f32});
  }
  return text;
}

}  // namespace sherd::plan
