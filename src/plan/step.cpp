#include "sherd/config/options.hpp"
#include "sherd/plan/plan.hpp"

namespace sherd::plan {
namespace {

using autograd::Recompute;

std::optional<Recompute> checkpointing(const config::FsdpConfig& config) {
  if (!config.activation_checkpointing) {
    return std::nullopt;
  }
  return config.use_reentrant ? Recompute::reentrant : Recompute::non_reentrant;
}

ActivationInput activation_input(const PlanSubject& subject) {
  return {subject.config.model.spec,
          subject.micro_batch_sequences,
          subject.config.data.sequence_length,
          subject.compute_dtype,
          checkpointing(subject.config.fsdp_config),
          true};
}

/// The configured way to checkpoint is one of the three, so each is counted once.
void add_activations(StepPlan& plan) {
  ActivationInput input = activation_input(plan.subject);
  input.threads = plan.shape.threads;
  const auto configured = input.checkpointing;
  input.checkpointing = std::nullopt;
  plan.kept = plan_activations(input);
  for (const Recompute mode : {Recompute::reentrant, Recompute::non_reentrant}) {
    input.checkpointing = mode;
    plan.checkpointed[static_cast<std::size_t>(mode)] = plan_activations(input);
  }
  plan.activations =
      configured ? plan.checkpointed[static_cast<std::size_t>(*configured)] : plan.kept;
  plan.activations_through_f32 = plan.activations.peak;
  if (input.dtype == DType::bf16) {
    input.checkpointing = configured;
    input.native_products = false;
    plan.activations_through_f32 = plan_activations(input).peak;
  }
}

}  // namespace

StepPlan plan_step(PlanSubject subject, const PlanShape& shape) {
  StepPlan plan;
  plan.options = config::fsdp_options(subject.config);
  plan.options.mixed_precision.param_dtype = subject.compute_dtype;
  const auto model = config::make_model(subject.config);
  const fsdp::PlanInput input{.nodes = shape.nodes,
                              .local_size = shape.ranks_per_node,
                              .shared_memory = shape.shared_memory,
                              .optimizer_slots = config::optimizer_slots(subject.config.optimizer),
                              .micro_batches = static_cast<int>(subject.micro_batches)};
  plan.sharding = fsdp::plan_sharding(*model, plan.options, input);
  fsdp::FullyShardOptions replicated = plan.options;
  replicated.strategy = fsdp::ShardingStrategy::no_shard;
  replicated.reshard_after_forward = fsdp::ReshardAfterForward::by_strategy;
  replicated.reshard_after_backward = true;
  replicated.accumulation = fsdp::Accumulation::reduce_each;
  plan.replicated = fsdp::plan_sharding(*model, replicated, input);
  plan.subject = std::move(subject);
  plan.shape = shape;
  add_activations(plan);
  return plan;
}

std::size_t StepPlan::bytes_per_rank() const {
  return fsdp::total_bytes(sharding.memory) + activations.peak;
}

std::size_t StepPlan::replicated_bytes_per_rank() const {
  return fsdp::total_bytes(replicated.memory) + activations.peak;
}

}  // namespace sherd::plan
