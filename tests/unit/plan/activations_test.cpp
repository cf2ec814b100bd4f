#include <gtest/gtest.h>

#include <set>
#include <string>

#include "sherd/autograd/functional.hpp"
#include "sherd/autograd/variable.hpp"
#include "sherd/fsdp/fully_shard.hpp"
#include "sherd/models/llama.hpp"
#include "sherd/plan/activations.hpp"
#include "sherd/runtime/team.hpp"
#include "sherd/tensor/kernel/matmul.hpp"
#include "sherd/tensor/memory_stats.hpp"

namespace sherd::plan {
namespace {

using autograd::Recompute;
using autograd::Variable;

models::LlamaConfig model_of(int hidden, int inner, int layers, int heads, int kv_heads, int vocab,
                             int head_dim = 0) {
  models::LlamaConfig model;
  model.hidden_size = hidden;
  model.intermediate_size = inner;
  model.num_hidden_layers = layers;
  model.num_attention_heads = heads;
  model.num_key_value_heads = kv_heads;
  model.vocab_size = vocab;
  model.head_dim = head_dim;
  return model;
}

bool has_native_bf16() {
  return kernel::matmul_implementation(DType::bf16).find("through") == std::string::npos;
}

void step(models::Llama& net, std::int64_t sequences, std::int64_t length) {
  const Tensor tokens = Tensor::zeros({sequences, length}, DType::i32);
  const Tensor targets = Tensor::zeros({sequences, length}, DType::i32);
  const Variable loss = autograd::cross_entropy(net(Variable(tokens)), targets, 1.0);
  autograd::backward(loss);
}

/// The most bytes alive at once in a step, beyond parameters and their gradients.
std::size_t measured_peak(const models::LlamaConfig& model, const ActivationInput& input) {
  models::Llama net(model, input.checkpointing);
  nn::materialize(net, 1, input.dtype);
  const std::size_t before = memory_stats().live_bytes;
  step(net, 1, 1);  // makes the gradients
  std::size_t gradients = 0;
  for (const nn::NamedParameter& parameter : nn::named_parameters(net)) {
    gradients += static_cast<std::size_t>(parameter.value.shape().numel()) * 4;
  }
  const std::size_t tables = static_cast<std::size_t>(model.resolved_head_dim()) * 4;
  EXPECT_EQ(memory_stats().live_bytes - before, gradients + tables);
  reset_peak_bytes();
  step(net, input.sequences, input.sequence_length);
  return memory_stats().peak_bytes - before - gradients;
}

TEST(PlanActivations, EqualWhatAStepHolds) {
  const models::LlamaConfig models[] = {
      model_of(64, 176, 3, 4, 4, 500),  // the peak is at lm_head
      model_of(64, 176, 3, 4, 2, 32),   // in an MLP
      model_of(8, 8, 1, 4, 1, 16, 64),  // in attention
      model_of(48, 100, 1, 2, 2, 1000),
  };
  std::set<std::string> places;
  for (models::LlamaConfig model : models) {
    for (const auto mode : {std::optional<Recompute>(), std::optional(Recompute::reentrant),
                            std::optional(Recompute::non_reentrant)}) {
      for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
        for (const bool tied : {false, true}) {
          model.tie_word_embeddings = tied;
          model.attention_bias = tied;
          model.mlp_bias = tied;
          const ActivationInput input{models::llama_model(model), 3, 40, dtype, mode,
                                      has_native_bf16()};
          const ActivationPlan plan = plan_activations(input);
          places.insert(plan.peak_at);
          EXPECT_EQ(plan.peak, measured_peak(model, input))
              << plan.peak_at << " hidden " << model.hidden_size << " layers "
              << model.num_hidden_layers << " " << to_string(dtype) << " mode "
              << (mode ? static_cast<int>(*mode) : -1) << " tied " << tied;
        }
      }
    }
  }
  for (const char* place :
       {"backward of lm_head", "backward of layers.2 mlp", "backward of layers.0 self_attn"}) {
    EXPECT_EQ(places.count(place), 1U) << place << " was never the peak: cases are missing";
  }
}

/// Long sequences, where attention is the peak: what its threads take for themselves is in the
/// plan.
TEST(PlanActivations, CoverTheThreadsOfARank) {
  const models::LlamaConfig model = model_of(16, 16, 1, 4, 4, 16);
  ActivationInput input{models::llama_model(model), 1, 512, DType::f32, std::nullopt,
                        has_native_bf16()};
  const std::size_t alone = plan_activations(input).peak;
  input.threads = 3;
  const std::size_t planned = plan_activations(input).peak;
  runtime::Team team({3, {}, false});
  const runtime::TeamScope scope(&team);
  EXPECT_GT(planned, alone);
  EXPECT_LE(measured_peak(model, input), planned);
}

/// The engine adds nothing to activations: all it holds is in its own plan.
TEST(PlanActivations, EqualWhatAStepOfTheEngineHolds) {
  for (const auto mode : {std::optional<Recompute>(), std::optional(Recompute::reentrant),
                          std::optional(Recompute::non_reentrant)}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const models::LlamaConfig sizes = model_of(64, 176, 3, 4, 2, 500);
      const ActivationInput input{models::llama_model(sizes), 2, 24, dtype, mode,
                                  has_native_bf16()};
      comm::MeshComms comms = comm::make_self_comms();
      fsdp::FullyShardOptions options;
      options.mixed_precision.param_dtype = dtype;
      fsdp::ShardedModel model =
          fully_shard(std::make_shared<models::Llama>(sizes, mode), comms, options);
      for (int again = 0; again < 2; ++again) {
        model.parameters().zero_grad();
        const std::size_t before = memory_stats().live_bytes;
        reset_peak_bytes();
        {
          const Tensor tokens = Tensor::zeros({2, 24}, DType::i32);
          const Tensor targets = Tensor::zeros({2, 24}, DType::i32);
          const Variable loss = autograd::cross_entropy(model(Variable(tokens)), targets, 1.0);
          model.backward(loss);
        }
        const std::size_t tables = again == 0 ? 0 : std::size_t{24} * 16 * 4;  // stay
        EXPECT_EQ(memory_stats().peak_bytes - before + tables, plan_activations(input).peak)
            << plan_activations(input).peak_at << " " << to_string(dtype);
      }
    }
  }
}

TEST(PlanActivations, CheckpointingKeepsInputsAndOneBlockAtATime) {
  ActivationInput input{
      models::llama_model(model_of(64, 176, 12, 4, 4, 32)), 2, 16, DType::f32, std::nullopt, true};
  const ActivationPlan whole = plan_activations(input);
  EXPECT_EQ(whole.recomputed_bytes, 0U);
  // T = 32, e = 4: 4h + 2q + 2kv + 3f elements a token, and 2 + H f32.
  EXPECT_EQ(whole.block_bytes, 32U * (4 * (4 * 64 + 2 * 64 + 2 * 64 + 3 * 176) + 4 * (2 + 4)));
  input.checkpointing = Recompute::non_reentrant;
  const ActivationPlan again = plan_activations(input);
  EXPECT_EQ(again.block_bytes, 32U * 4 * 64);
  EXPECT_EQ(again.block_bytes + again.recomputed_bytes, whole.block_bytes);
  EXPECT_LT(again.peak, whole.peak - 10 * again.recomputed_bytes);
}

}  // namespace
}  // namespace sherd::plan
