#include "sherd/train/plan_activations.hpp"

#include <fmt/format.h>

#include "train/activation_ledger.hpp"
#include "train/activation_sizes.hpp"

namespace sherd::train {
namespace {

using autograd::Recompute;

/// Goes through one step as LlamaBlock, Llama and the operations' backward functions do: what each
/// saves, which variables are still in scope, which gradients share memory.
class StepWalk {
 public:
  explicit StepWalk(const ActivationInput& input)
      : model_(input.model), checkpointing_(input.checkpointing), s_(input) {}

  ActivationLedger run() {
    ledger_.enter("forward of embed_tokens");
    ledger_.hold(s_.ids + s_.tables + s_.hidden);
    for (std::int64_t i = 0; i < model_.num_hidden_layers; ++i) {
      block_ = fmt::format("layers.{}", i);
      if (checkpointing_) {
        forward_and_forget();
      } else {
        forward_and_keep("forward", true);
      }
    }
    forward_root();
    backward_root();
    for (std::int64_t i = model_.num_hidden_layers; i-- > 0;) {
      block_ = fmt::format("layers.{}", i);
      backward();
    }
    return std::move(ledger_);
  }

 private:
  [[nodiscard]] std::int64_t hidden() const { return model_.hidden_size; }
  [[nodiscard]] std::int64_t queries() const {
    return model_.num_attention_heads * model_.resolved_head_dim();
  }
  [[nodiscard]] std::int64_t keys() const {
    return model_.num_key_value_heads * model_.resolved_head_dim();
  }

  /// x W^T with its result.
  void multiply(std::int64_t in, std::int64_t out, std::size_t result) {
    ledger_.hold(result);
    ledger_.use(s_.product(in, out));
  }

  /// From the block's input to attention's output and log-sum-exp.
  void attend() {
    ledger_.hold(s_.hidden + s_.row);  // input_layernorm
    multiply(hidden(), queries(), s_.queries);
    multiply(hidden(), keys(), s_.keys);
    multiply(hidden(), keys(), s_.keys);
    ledger_.hold(s_.queries + 2 * s_.keys);  // rotated
    ledger_.drop(s_.queries + 2 * s_.keys);
    ledger_.hold(s_.queries + s_.lse);
    ledger_.use(s_.attention_forward());
  }

  void forward_and_keep(const char* when, bool whole) {
    ledger_.enter(fmt::format("{} of {} self_attn", when, block_));
    attend();
    multiply(queries(), hidden(), s_.hidden);
    ledger_.hold(s_.hidden);  // the sum
    ledger_.drop(s_.hidden);  // o_proj's result
    ledger_.enter(fmt::format("{} of {} mlp", when, block_));
    ledger_.hold(s_.hidden + s_.row);
    multiply(hidden(), model_.intermediate_size, s_.inner);
    multiply(hidden(), model_.intermediate_size, s_.inner);
    ledger_.hold(s_.inner);
    if (whole) {
      multiply(model_.intermediate_size, hidden(), s_.hidden);
      ledger_.hold(s_.hidden);
      ledger_.drop(s_.hidden);
    }
  }

  /// Forward of a checkpointed block: results live as long as a variable holds them.
  void forward_and_forget() {
    ledger_.enter(fmt::format("forward of {} self_attn", block_));
    attend();
    ledger_.drop(s_.row + s_.lse);
    multiply(queries(), hidden(), s_.hidden);
    ledger_.drop(2 * s_.queries + 2 * s_.keys);
    ledger_.hold(s_.hidden);
    ledger_.drop(2 * s_.hidden);
    ledger_.enter(fmt::format("forward of {} mlp", block_));
    ledger_.hold(s_.hidden + s_.row);
    ledger_.drop(s_.row);
    multiply(hidden(), model_.intermediate_size, s_.inner);
    multiply(hidden(), model_.intermediate_size, s_.inner);
    ledger_.hold(s_.inner);
    multiply(model_.intermediate_size, hidden(), s_.hidden);
    ledger_.drop(3 * s_.inner);
    ledger_.hold(s_.hidden);
    ledger_.drop(3 * s_.hidden);  // down_proj's result, the norm's, the sum before the MLP
  }

  void forward_root() {
    ledger_.enter("forward of lm_head");
    ledger_.hold(s_.hidden + s_.row);
    multiply(hidden(), model_.vocab_size, s_.vocab);
    ledger_.enter("forward of the loss");
    ledger_.hold(s_.row + kScalar);
    ledger_.use(2 * s_.row);  // each token's loss, f64
    ledger_.use(kScalar);     // the gradient of the sum
  }

  void backward_root() {
    ledger_.drop(s_.row);  // the logits' gradient takes the logits' place
    ledger_.enter("backward of lm_head");
    multiply(model_.vocab_size, hidden(), s_.hidden);
    ledger_.use(s_.weight_gradient(hidden(), model_.vocab_size));
    ledger_.drop(s_.vocab + s_.hidden);
    ledger_.enter("backward of norm");
    ledger_.hold(s_.hidden);
    ledger_.drop(2 * s_.hidden + s_.row);
  }

  void backward() {
    const bool again = checkpointing_ == Recompute::reentrant;
    if (checkpointing_) {
      forward_and_keep("recomputation", again);
    }
    backward_mlp();
    backward_attention();
    if (again) {
      ledger_.drop(s_.hidden);  // the recomputed result
    }
  }

  /// The gradient of the block's output is there and becomes that of its input, in place.
  void backward_mlp() {
    const std::int64_t inner = model_.intermediate_size;
    ledger_.enter(fmt::format("backward of {} mlp", block_));
    multiply(hidden(), inner, s_.inner);
    ledger_.use(s_.weight_gradient(inner, hidden()));
    ledger_.drop(s_.inner);  // down_proj's input
    ledger_.hold(2 * s_.inner);
    ledger_.drop(3 * s_.inner);  // gate, up, and the gradient of their product
    multiply(inner, hidden(), s_.hidden);
    ledger_.use(s_.weight_gradient(hidden(), inner));
    ledger_.drop(s_.hidden + 2 * s_.inner);
    ledger_.drop(2 * s_.hidden + s_.row);  // through the norm
  }

  void backward_attention() {
    ledger_.enter(fmt::format("backward of {} self_attn", block_));
    multiply(hidden(), queries(), s_.queries);
    ledger_.use(s_.weight_gradient(queries(), hidden()));
    ledger_.hold(s_.queries + 2 * s_.keys);
    ledger_.use(s_.attention_backward());
    ledger_.drop(3 * s_.queries + 2 * s_.keys + s_.lse);
    ledger_.use(s_.queries);  // rotating back, one after the other
    multiply(queries(), hidden(), s_.hidden);
    ledger_.use(s_.weight_gradient(hidden(), queries()));
    ledger_.drop(s_.hidden + s_.queries + 2 * s_.keys);
    ledger_.drop(2 * s_.hidden + s_.row);  // through the norm, and the block's input
  }

  static constexpr std::size_t kScalar = 8;  // the loss, f64

  const models::LlamaConfig& model_;
  std::optional<Recompute> checkpointing_;
  ActivationSizes s_;
  ActivationLedger ledger_;
  std::string block_;
};

std::vector<KeptTensors> block_tensors(const ActivationSizes& s) {
  return {{"input", "T*h*e", s.hidden},
          {"input_layernorm, 1/rms", "T*h*e + 4*T", s.hidden + s.row},
          {"q, k, v", "T*(q + 2*kv)*e", s.queries + 2 * s.keys},
          {"attention, log-sum-exp", "T*q*e + 4*T*H", s.queries + s.lse},
          {"sum after attention", "T*h*e", s.hidden},
          {"post_attention_layernorm, 1/rms", "T*h*e + 4*T", s.hidden + s.row},
          {"gate, up, their product", "3*T*f*e", 3 * s.inner}};
}

std::vector<KeptTensors> root_tensors(const ActivationSizes& s) {
  return {{"token ids, targets", "8*T", s.ids},
          {"rotation tables", "4*S*d", s.tables},
          {"norm's input", "T*h*e", s.hidden},
          {"norm, 1/rms", "T*h*e + 4*T", s.hidden + s.row},
          {"logits (their gradient in place)", "T*V*e", s.vocab},
          {"log-sum-exp of the logits, loss", "4*T + 8", s.row + 8}};
}

std::size_t sum(const std::vector<KeptTensors>& tensors) {
  std::size_t bytes = 0;
  for (const KeptTensors& kept : tensors) {
    bytes += kept.bytes;
  }
  return bytes;
}

}  // namespace

ActivationPlan plan_activations(const ActivationInput& input) {
  const ActivationSizes sizes(input);
  ActivationPlan plan;
  plan.block = block_tensors(sizes);
  plan.root = root_tensors(sizes);
  plan.root_bytes = sum(plan.root);
  plan.block_bytes = sum(plan.block);
  if (input.checkpointing) {
    plan.recomputed_bytes = plan.block_bytes - sizes.hidden;
    plan.block_bytes = sizes.hidden;
  }
  const ActivationLedger walked = StepWalk(input).run();
  plan.peak = walked.peak();
  plan.peak_at = walked.peak_at();
  return plan;
}

}  // namespace sherd::train
