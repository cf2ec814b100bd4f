#include <nlohmann/json.hpp>

#include "plan/bytes_text.hpp"
#include "plan/format.hpp"
#include "sherd/config/options.hpp"
#include "sherd/plan/plan.hpp"

namespace sherd::plan {
namespace {

using Json = nlohmann::ordered_json;

Json memory_json(const fsdp::MemoryReport& memory) {
  Json json;
  for (const auto& [kind, bytes] : by_kind(memory)) {
    json[kind] = bytes;
  }
  return json;
}

Json traffic_json(const fsdp::TrafficReport& traffic) {
  Json json = Json::array();
  for (const auto level : {fsdp::LinkLevel::node, fsdp::LinkLevel::cross}) {
    for (const auto collective : {fsdp::Collective::all_gather, fsdp::Collective::reduce_scatter,
                                  fsdp::Collective::all_reduce}) {
      const fsdp::Traffic& one = traffic.at(level, collective);
      if (one.calls > 0) {
        json.push_back({{"level", to_text(level)},
                        {"collective", to_text(collective)},
                        {"calls", one.calls},
                        {"bytes", one.bytes}});
      }
    }
  }
  return json;
}

Json groups_json(const StepPlan& plan) {
  Json json = Json::array();
  for (const FoldedGroups& folded : fold(plan.sharding.groups)) {
    Json owned = Json::array();  // by rank
    for (int rank = 0; rank < plan.shape.ranks(); ++rank) {
      const OwnedElements range = owned_elements(plan, folded.one, rank);
      owned.push_back({range.begin, range.count});
    }
    json.push_back({{"groups", folded.names},
                    {"parameters", folded.one.parameters},
                    {"trainable", folded.one.trainable},
                    {"buffer_elements", folded.one.buffer_numel},
                    {"piece_elements", folded.one.piece_numel},
                    {"owned_elements_by_rank", std::move(owned)}});
  }
  return json;
}

Json collectives_json(const StepPlan& plan) {
  Json json = Json::array();
  for (const fsdp::PlannedCollective& one : plan.sharding.collectives) {
    json.push_back({{"phase", to_text(one.phase)},
                    {"level", to_text(one.level)},
                    {"collective", to_text(one.collective)},
                    {"group", one.group},
                    {"dtype", to_string(one.dtype)},
                    {"ranks", one.ranks},
                    {"bytes", one.bytes},
                    {"times", one.times}});
  }
  return json;
}

Json slots_json(const StepPlan& plan) {
  Json json = Json::array();
  for (const fsdp::PlannedSlot& slot : plan.sharding.slots) {
    std::string lifetime;
    for (const SlotLifetime& life : slot_lifetimes(plan)) {
      lifetime = slot.name.rfind(life.slots, 0) == 0 ? life.lifetime : lifetime;
    }
    json.push_back({{"slot", slot.name},
                    {"bytes", slot.bytes},
                    {"shared_by_node", slot.shared},
                    {"groups", slot.groups},
                    {"lifetime", lifetime}});
  }
  return json;
}

Json kept_json(const std::vector<KeptTensors>& tensors) {
  Json json = Json::array();
  for (const KeptTensors& kept : tensors) {
    json.push_back({{"what", kept.what}, {"formula", kept.formula}, {"bytes", kept.bytes}});
  }
  return json;
}

Json peak_json(const ActivationPlan& activations) {
  return {{"bytes", activations.peak},
          {"at", activations.peak_at},
          {"kept_per_block", activations.block_bytes},
          {"recomputed_per_block", activations.recomputed_bytes}};
}

Json activations_json(const StepPlan& plan) {
  return {{"block", kept_json(plan.kept.block)},
          {"root", kept_json(plan.kept.root)},
          {"blocks", plan.subject.config.model.spec.facts().blocks},
          {"peak",
           {{"off", peak_json(plan.kept)},
            {"reentrant", peak_json(plan.checkpointed[0])},
            {"non_reentrant", peak_json(plan.checkpointed[1])}}},
          {"peak_as_configured", plan.activations.peak},
          {"peak_where_bf16_products_go_through_f32", plan.activations_through_f32}};
}

Json types_json(const fsdp::MixedPrecisionPolicy& policy) {
  return {{"compute", to_string(policy.param_dtype)},
          {"master", to_string(policy.master_dtype)},
          {"reduce", to_string(policy.reduce())},
          {"cross_reduce", to_string(policy.cross_reduce())},
          {"accumulate", to_string(policy.accumulate())}};
}

Json header_json(const StepPlan& plan) {
  const PlanSubject& subject = plan.subject;
  return {{"model", subject.name},
          {"parameters", subject.config.model.spec.facts().parameters},
          {"nodes", plan.shape.nodes},
          {"ranks_per_node", plan.shape.ranks_per_node},
          {"threads", plan.shape.threads},
          {"shared_memory", plan.shape.shared_memory},
          {"strategy", fsdp::row(plan.options.strategy).name},
          {"types", types_json(plan.options.mixed_precision)},
          {"optimizer_slots", config::optimizer_slots(subject.config.optimizer)},
          {"activation_checkpointing", checkpointing_text(subject.config.fsdp_config)},
          {"micro_batches", subject.micro_batches},
          {"accumulation", to_text(plan.options.accumulation)},
          {"micro_batch_sequences", subject.micro_batch_sequences},
          {"sequence_length", subject.config.data.sequence_length}};
}

Json memory_of(const fsdp::ShardingPlan& sharding, std::size_t total) {
  return {{"by_kind", memory_json(sharding.memory)},
          {"at_rest", total_bytes(sharding.memory)},
          {"total", total},
          {"gathered_per_node", sharding.gathered_per_node}};
}

}  // namespace

std::string plan_json(const StepPlan& plan, std::optional<std::size_t> memory) {
  Json json = header_json(plan);
  json["groups"] = groups_json(plan);
  json["collectives"] = collectives_json(plan);
  json["slots"] = slots_json(plan);
  json["bytes_per_rank"] = memory_of(plan.sharding, plan.bytes_per_rank());
  json["bytes_per_node"] =
      plan.bytes_per_rank() * static_cast<std::size_t>(plan.shape.ranks_per_node);
  json["sent_per_rank_and_step"] = traffic_json(plan.sharding.traffic);
  json["activations"] = activations_json(plan);
  json["ddp"] = {{"bytes_per_rank", memory_of(plan.replicated, plan.replicated_bytes_per_rank())},
                 {"sent_per_rank_and_step", traffic_json(plan.replicated.traffic)}};
  if (memory) {
    const Verdict verdict = check_memory(plan, *memory);
    json["memory"] = {{"bytes", *memory}, {"fits", verdict.fits}, {"text", verdict.text}};
  }
  return json.dump(1) + "\n";
}

}  // namespace sherd::plan
