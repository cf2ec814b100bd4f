#include "sherd/plan/activations.hpp"

#include "sherd/autograd/functional.hpp"
#include "sherd/plan/measure.hpp"

namespace sherd::plan {
namespace {

/// Token ids and targets, which whoever runs a step holds until it is over.
struct Tokens {
  Tensor ids;
  Tensor targets;
};

ActivationPeak measure(const ActivationInput& input,
                       std::optional<autograd::Recompute> checkpointing) {
  const auto module = input.model.make(checkpointing);
  Tokens tokens;
  return measure_activations(
      *module, {input.dtype, input.native_products, input.threads}, [&](nn::Module& decoder) {
        const Shape shape{input.sequences, input.sequence_length};
        tokens.ids = Tensor::empty(shape, DType::i32, MemoryKind::device);
        tokens.targets = Tensor::empty(shape, DType::i32, MemoryKind::device);
        return autograd::cross_entropy(decoder(nn::Variable(tokens.ids)), tokens.targets, 1.0);
      });
}

std::size_t sum(const std::vector<KeptTensors>& tensors) {
  std::size_t bytes = 0;
  for (const KeptTensors& kept : tensors) {
    bytes += kept.bytes;
  }
  return bytes;
}

/// The family's tables, or one row each with what was counted.
models::KeptTables kept_tables(const ActivationInput& input, const ActivationPeak& measured) {
  if (input.model.family().kept) {
    return input.model.family().kept(input.model.sizes(),
                                     {input.sequences, input.sequence_length, input.dtype});
  }
  const ActivationPeak whole = input.checkpointing ? measure(input, std::nullopt) : measured;
  const auto blocks = static_cast<std::size_t>(input.model.facts().blocks);
  return {.block = {{"for backward", "counted", whole.block}},
          .root = {{"beside the blocks", "counted", whole.kept - blocks * whole.block}}};
}

}  // namespace

ActivationPlan plan_activations(const ActivationInput& input) {
  const ActivationPeak measured = measure(input, input.checkpointing);
  models::KeptTables tables = kept_tables(input, measured);
  ActivationPlan plan;
  plan.block = std::move(tables.block);
  plan.root = std::move(tables.root);
  plan.root_bytes = sum(plan.root);
  plan.block_bytes = measured.block;
  plan.recomputed_bytes = sum(plan.block) - measured.block;
  plan.peak = measured.bytes;
  plan.peak_at = measured.at;
  return plan;
}

}  // namespace sherd::plan
