#pragma once

#include <memory>
#include <optional>

#include "nn/rope_cache.hpp"
#include "sherd/nn/layers.hpp"
#include "sherd/nn/llama.hpp"

namespace sherd::nn {

/// Grouped-query causal self-attention with rotary positions: q_proj, k_proj, v_proj, o_proj.
class LlamaAttention : public Module {
 public:
  LlamaAttention(const LlamaConfig& config, std::shared_ptr<RopeCache> rope);
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  std::int64_t head_dim_;
  std::shared_ptr<RopeCache> rope_;
  std::shared_ptr<Linear> q_proj_;
  std::shared_ptr<Linear> k_proj_;
  std::shared_ptr<Linear> v_proj_;
  std::shared_ptr<Linear> o_proj_;
};

/// SwiGLU: down_proj(silu(gate_proj(x)) * up_proj(x)).
class LlamaMlp : public Module {
 public:
  explicit LlamaMlp(const LlamaConfig& config);
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  std::shared_ptr<Linear> gate_proj_;
  std::shared_ptr<Linear> up_proj_;
  std::shared_ptr<Linear> down_proj_;
};

/// One decoder block. Activation checkpointing happens inside its forward, so that hooks on the
/// block surround the recomputed body.
class LlamaBlock : public Module {
 public:
  LlamaBlock(const LlamaConfig& config, std::shared_ptr<RopeCache> rope,
             std::optional<autograd::Recompute> recompute);
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  [[nodiscard]] Variable body(const Variable& x);

  std::optional<autograd::Recompute> recompute_;
  std::shared_ptr<RMSNorm> input_layernorm_;
  std::shared_ptr<LlamaAttention> self_attn_;
  std::shared_ptr<RMSNorm> post_attention_layernorm_;
  std::shared_ptr<LlamaMlp> mlp_;
};

}  // namespace sherd::nn
