// The sizes' checks and the whole decoder; block.cpp has what is repeated.
#include "sherd/models/llama.hpp"

#include <fmt/format.h>

#include "models/llama/block.hpp"
#include "models/llama/rope_scaling.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/error.hpp"
#include "sherd/nn/layers.hpp"

namespace sherd::models {
namespace {

/// More of a size, of layers and of parameters than any machine holds or any model has: what is
/// beyond would end in an overflow or be killed for its memory, not be refused.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 24;
constexpr std::int64_t kMostLayers = 10'000;
constexpr double kMostParameters = 1e15;

/// parameter_count() where it may be beyond what 64 bits count; biases and norms left out.
double about_parameters(const LlamaConfig& c) {
  const auto real = [](std::int64_t size) { return static_cast<double>(size); };
  const double head =
      c.head_dim != 0 ? real(c.head_dim) : real(c.hidden_size) / real(c.num_attention_heads);
  const double heads = real(c.num_attention_heads) + real(c.num_key_value_heads);
  const double block = real(c.hidden_size) * (2.0 * heads * head + 3.0 * real(c.intermediate_size));
  const double tables = c.tie_word_embeddings ? 1.0 : 2.0;
  return tables * real(c.vocab_size) * real(c.hidden_size) + real(c.num_hidden_layers) * block;
}

std::string told_size(const LlamaConfig& config) {
  const double parameters = about_parameters(config);
  return fmt::format("the model would have about {:.2g} parameters, {:.2g} bytes in f32",
                     parameters, 4.0 * parameters);
}

void require_at_most(const LlamaConfig& config, const char* field, std::int64_t value,
                     std::int64_t most) {
  if (value > most) {
    throw ConfigError(
        fmt::format("model.{} is {}, at most {} is possible ({}). Try: the size that "
                    "was meant",
                    field, value, most, told_size(config)));
  }
}

void check_magnitude(const LlamaConfig& c) {
  require_at_most(c, "vocab_size", c.vocab_size, kLargestSize);
  require_at_most(c, "hidden_size", c.hidden_size, kLargestSize);
  require_at_most(c, "intermediate_size", c.intermediate_size, kLargestSize);
  require_at_most(c, "num_hidden_layers", c.num_hidden_layers, kMostLayers);
  require_at_most(c, "num_attention_heads", c.num_attention_heads, kLargestSize);
  require_at_most(c, "num_key_value_heads", c.num_key_value_heads, kLargestSize);
  require_at_most(c, "head_dim", c.head_dim, kLargestSize);
  require_at_most(c, "max_position_embeddings", c.max_position_embeddings, kLargestSize);
  if (about_parameters(c) > kMostParameters) {
    throw ConfigError(fmt::format(
        "no machine holds a model of sizes like these ({}). Try: "
        "smaller ones; hidden_size is {}, intermediate_size {}, "
        "num_hidden_layers {}, vocab_size {}",
        told_size(c), c.hidden_size, c.intermediate_size, c.num_hidden_layers, c.vocab_size));
  }
}

void require_positive(const char* field, std::int64_t value) {
  validate(value > 0, fmt::format("model.{} is {} (a Llama needs at least 1). Try: a positive "
                                  "number",
                                  field, value));
}

void check_heads(const LlamaConfig& config) {
  const std::int64_t heads = config.num_attention_heads;
  validate(heads % config.num_key_value_heads == 0,
           fmt::format("model.num_key_value_heads is {}, which does not divide "
                       "num_attention_heads {} (each key/value head serves equally many query "
                       "heads). Try: a divisor of {}",
                       config.num_key_value_heads, heads, heads));
  validate(
      config.head_dim != 0 || config.hidden_size % heads == 0,
      fmt::format("model.hidden_size {} is not a multiple of num_attention_heads {} (the heads "
                  "share it equally). Try: set head_dim, or another hidden_size",
                  config.hidden_size, heads));
  validate(
      config.head_dim >= 0 && config.resolved_head_dim() % 2 == 0,
      fmt::format("model.head_dim is {} (rotary positions turn pairs of elements). Try: an even "
                  "positive number",
                  config.resolved_head_dim()));
}

}  // namespace

void LlamaConfig::check() const {
  require_positive("vocab_size", vocab_size);
  require_positive("hidden_size", hidden_size);
  require_positive("intermediate_size", intermediate_size);
  require_positive("num_hidden_layers", num_hidden_layers);
  require_positive("num_attention_heads", num_attention_heads);
  require_positive("num_key_value_heads", num_key_value_heads);
  require_positive("max_position_embeddings", max_position_embeddings);
  check_magnitude(*this);
  check_heads(*this);
  validate(rms_norm_eps > 0.0,
           "model.rms_norm_eps must be positive (it keeps the norm of a zero "
           "row finite). Try: 1e-5");
  validate(rope_theta > 0.0, "model.rope_theta must be positive. Try: 10000");
  check_rope_scaling(rope_scaling);
  validate(initializer_range >= 0.0,
           "model.initializer_range is a standard deviation and cannot be negative. Try: 0.02");
}

std::int64_t LlamaConfig::parameter_count() const {
  const std::int64_t queries = num_attention_heads * resolved_head_dim();
  const std::int64_t keys = num_key_value_heads * resolved_head_dim();
  std::int64_t block = hidden_size * (2 * queries + 2 * keys + 3 * intermediate_size + 2);
  block += attention_bias ? queries + 2 * keys + hidden_size : 0;
  block += mlp_bias ? 2 * intermediate_size + hidden_size : 0;
  const std::int64_t tables = tie_word_embeddings ? 1 : 2;
  return tables * vocab_size * hidden_size + num_hidden_layers * block + hidden_size;
}

Llama::Llama(const LlamaConfig& config, std::optional<autograd::Recompute> activation_checkpointing)
    : config_(config) {
  config_.check();
  const double stddev = config_.initializer_range;
  auto rope = std::make_shared<RopeCache>(
      scaled_frequencies(config_.resolved_head_dim(), config_.rope_theta, config_.rope_scaling));
  auto embedding = std::make_shared<nn::Embedding>(config_.vocab_size, config_.hidden_size, stddev);
  embed_tokens_ = register_module("embed_tokens", embedding);
  layers_ = register_module("layers", std::make_shared<nn::ModuleList>());
  for (std::int64_t i = 0; i < config_.num_hidden_layers; ++i) {
    layers_->push_back(std::make_shared<LlamaBlock>(config_, rope, activation_checkpointing));
  }
  norm_ = register_module("norm",
                          std::make_shared<nn::RMSNorm>(config_.hidden_size, config_.rms_norm_eps));
  if (config_.tie_word_embeddings) {
    lm_head_ = register_module("lm_head", std::make_shared<nn::TiedLinear>(embedding->weight()));
  } else {
    lm_head_ = register_module(
        "lm_head",
        std::make_shared<nn::Linear>(config_.hidden_size, config_.vocab_size, false, stddev));
  }
}

nn::Variable Llama::forward(const nn::Variable& ids) {
  expect(ids.shape().rank() == 2, "Llama's input is token ids [batch, seq]");
  expect(
      ids.shape()[1] <= config_.max_position_embeddings,
      "the sequence is longer than max_position_embeddings (positions beyond it were never meant "
      "to be used). Try: shorter sequences");
  return (*lm_head_)((*norm_)((*layers_)((*embed_tokens_)(ids))));
}

}  // namespace sherd::models
