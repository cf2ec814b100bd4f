// One decoder block: attention and MLP, each with the norm before it.
#include "models/llama/block.hpp"

#include <cmath>

#include "sherd/autograd/functional.hpp"

namespace sherd::models {
namespace {

/// Standard deviation of the projections that add to the residual stream: smaller, so that the
/// stream's variance does not grow with the number of layers (two additions each).
double residual_stddev(const LlamaConfig& config) {
  const auto additions = static_cast<double>(2 * config.num_hidden_layers);
  return config.initializer_range / std::sqrt(additions);
}

/// Several linear maps of one input, at once where nothing hangs on them individually.
std::vector<nn::Variable> project(const nn::Variable& x,
                                  std::initializer_list<nn::Linear*> layers) {
  bool plain = true;
  std::vector<nn::Variable> weights;
  weights.reserve(layers.size());
  for (const nn::Linear* layer : layers) {
    plain = plain && !layer->has_hooks() && !layer->bias().defined();
    weights.push_back(layer->weight());
  }
  if (plain) {
    return autograd::linear_multi(x, weights);
  }
  std::vector<nn::Variable> results;
  results.reserve(layers.size());
  for (nn::Linear* layer : layers) {
    results.push_back((*layer)(x));
  }
  return results;
}

std::shared_ptr<nn::Linear> projection(std::int64_t in, std::int64_t out, bool bias,
                                       double stddev) {
  return std::make_shared<nn::Linear>(in, out, bias, stddev);
}

}  // namespace

LlamaAttention::LlamaAttention(const LlamaConfig& config, std::shared_ptr<RopeCache> rope)
    : head_dim_(config.resolved_head_dim()), rope_(std::move(rope)) {
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t queries = config.num_attention_heads * head_dim_;
  const std::int64_t keys = config.num_key_value_heads * head_dim_;
  const bool bias = config.attention_bias;
  const double stddev = config.initializer_range;
  q_proj_ = register_module("q_proj", projection(hidden, queries, bias, stddev));
  k_proj_ = register_module("k_proj", projection(hidden, keys, bias, stddev));
  v_proj_ = register_module("v_proj", projection(hidden, keys, bias, stddev));
  o_proj_ = register_module("o_proj", projection(queries, hidden, bias, residual_stddev(config)));
}

nn::Variable LlamaAttention::forward(const nn::Variable& x) {
  const kernel::RopeTables* tables = rope_->get(x.shape()[1], x.data());
  nn::Variable q;
  nn::Variable k;
  nn::Variable v;
  {
    const auto projected = project(x, {q_proj_.get(), k_proj_.get(), v_proj_.get()});
    q = autograd::rope(projected[0], head_dim_, tables);
    k = autograd::rope(projected[1], head_dim_, tables);
    v = autograd::rope(projected[2], head_dim_, nullptr);
  }
  return (*o_proj_)(autograd::attention(q, k, v));
}

LlamaMlp::LlamaMlp(const LlamaConfig& config) {
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t inner = config.intermediate_size;
  const bool bias = config.mlp_bias;
  const double stddev = config.initializer_range;
  gate_proj_ = register_module("gate_proj", projection(hidden, inner, bias, stddev));
  up_proj_ = register_module("up_proj", projection(hidden, inner, bias, stddev));
  down_proj_ =
      register_module("down_proj", projection(inner, hidden, bias, residual_stddev(config)));
}

nn::Variable LlamaMlp::forward(const nn::Variable& x) {
  const auto projected = project(x, {gate_proj_.get(), up_proj_.get()});
  return (*down_proj_)(autograd::swiglu(projected[0], projected[1]));
}

LlamaBlock::LlamaBlock(const LlamaConfig& config, std::shared_ptr<RopeCache> rope,
                       std::optional<autograd::Recompute> recompute)
    : recompute_(recompute) {
  const auto norm = [&config] {
    return std::make_shared<nn::RMSNorm>(config.hidden_size, config.rms_norm_eps);
  };
  input_layernorm_ = register_module("input_layernorm", norm());
  self_attn_ =
      register_module("self_attn", std::make_shared<LlamaAttention>(config, std::move(rope)));
  post_attention_layernorm_ = register_module("post_attention_layernorm", norm());
  mlp_ = register_module("mlp", std::make_shared<LlamaMlp>(config));
}

nn::Variable LlamaBlock::forward(const nn::Variable& x) {
  if (!recompute_) {
    return body(x);
  }
  return autograd::checkpoint([this](const nn::Variable& input) { return body(input); }, x,
                              *recompute_);
}

nn::Variable LlamaBlock::body(const nn::Variable& x) {
  const nn::Variable h = autograd::add(x, (*self_attn_)((*input_layernorm_)(x)));
  return autograd::add(h, (*mlp_)((*post_attention_layernorm_)(h)));
}

}  // namespace sherd::models
