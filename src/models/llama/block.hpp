#pragma once

#include <memory>
#include <optional>

#include "models/llama/rope_cache.hpp"
#include "sherd/models/llama.hpp"
#include "sherd/nn/layers.hpp"

namespace sherd::models {

/// Grouped-query causal self-attention with rotary positions: q_proj, k_proj, v_proj, o_proj.
class LlamaAttention : public nn::Module {
 public:
  LlamaAttention(const LlamaConfig& config, std::shared_ptr<RopeCache> rope);
  [[nodiscard]] nn::Variable forward(const nn::Variable& x) override;

 private:
  std::int64_t head_dim_;
  std::shared_ptr<RopeCache> rope_;
  std::shared_ptr<nn::Linear> q_proj_;
  std::shared_ptr<nn::Linear> k_proj_;
  std::shared_ptr<nn::Linear> v_proj_;
  std::shared_ptr<nn::Linear> o_proj_;
};

/// SwiGLU: down_proj(silu(gate_proj(x)) * up_proj(x)).
class LlamaMlp : public nn::Module {
 public:
  explicit LlamaMlp(const LlamaConfig& config);
  [[nodiscard]] nn::Variable forward(const nn::Variable& x) override;

 private:
  std::shared_ptr<nn::Linear> gate_proj_;
  std::shared_ptr<nn::Linear> up_proj_;
  std::shared_ptr<nn::Linear> down_proj_;
};

/// One decoder block. Activation checkpointing happens inside its forward, so that hooks on the
/// block surround the recomputed body.
class LlamaBlock : public nn::Module {
 public:
  LlamaBlock(const LlamaConfig& config, std::shared_ptr<RopeCache> rope,
             std::optional<autograd::Recompute> recompute);
  [[nodiscard]] nn::Variable forward(const nn::Variable& x) override;

 private:
  [[nodiscard]] nn::Variable body(const nn::Variable& x);

  std::optional<autograd::Recompute> recompute_;
  std::shared_ptr<nn::RMSNorm> input_layernorm_;
  std::shared_ptr<LlamaAttention> self_attn_;
  std::shared_ptr<nn::RMSNorm> post_attention_layernorm_;
  std::shared_ptr<LlamaMlp> mlp_;
};

}  // namespace sherd::models
