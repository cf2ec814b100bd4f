#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sherd/autograd/function.hpp"
#include "sherd/models/family.hpp"
#include "sherd/nn/module.hpp"

namespace sherd::models {

/// Rotary positions of a model whose sequences were made longer after its first training, as Llama
/// 3.1's ("llama3" in config.json): wavelengths that the original length holds fewer than
/// low_freq_factor times are stretched by `factor`, those it holds more than high_freq_factor times
/// are kept, and those between are blended.
struct RopeScaling {
  double factor = 1.0;  ///< 1: no scaling, whatever the rest says
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  std::int64_t original_max_position_embeddings = 8192;

  [[nodiscard]] bool given() const noexcept { return factor != 1.0; }
};

/// Sizes of a Llama-family decoder; names as in Hugging Face's config.json.
struct LlamaConfig {
  std::int64_t vocab_size = 256;
  std::int64_t hidden_size = 256;
  std::int64_t intermediate_size = 688;
  std::int64_t num_hidden_layers = 4;
  std::int64_t num_attention_heads = 4;
  std::int64_t num_key_value_heads = 4;
  std::int64_t head_dim = 0;  ///< 0: hidden_size / num_attention_heads
  std::int64_t max_position_embeddings = 2048;
  double rms_norm_eps = 1e-5;
  double rope_theta = 10000.0;
  RopeScaling rope_scaling = {};
  double initializer_range = 0.02;
  bool tie_word_embeddings = false;
  bool attention_bias = false;
  bool mlp_bias = false;

  [[nodiscard]] std::int64_t resolved_head_dim() const {
    return head_dim != 0 ? head_dim : hidden_size / num_attention_heads;
  }
  /// Throws ConfigError naming the field that makes no sense.
  void check() const;
  [[nodiscard]] std::int64_t parameter_count() const;
};

/// Decoder: embed_tokens, layers.{i}, norm, lm_head (names of Hugging Face without "model."). The
/// input is a Variable holding i32 token ids [batch, seq]; the output is logits [batch, seq,
/// vocab]. seq may be at most max_position_embeddings. Activation checkpointing per block when
/// asked. Computes in the type its parameters' data have (all the same one). Initial weights are
/// normal(initializer_range), those of o_proj and down_proj divided by sqrt(2 * num_hidden_layers);
/// norms are ones, biases zeros.
class Llama : public nn::Module {
 public:
  explicit Llama(const LlamaConfig& config,
                 std::optional<autograd::Recompute> activation_checkpointing = std::nullopt);
  [[nodiscard]] nn::Variable forward(const nn::Variable& ids) override;
  [[nodiscard]] const LlamaConfig& config() const noexcept { return config_; }

 private:
  LlamaConfig config_;
  std::shared_ptr<nn::Module> embed_tokens_;
  std::shared_ptr<nn::ModuleList> layers_;
  std::shared_ptr<nn::Module> norm_;
  std::shared_ptr<nn::Module> lm_head_;
};

/// A Llama as the rest of the program sees models, and its sizes seen again. The latter throws
/// std::bad_any_cast for a model of another family.
[[nodiscard]] ModelSpec llama_model(const LlamaConfig& config);
[[nodiscard]] const LlamaConfig& llama_config(const ModelSpec& model);

}  // namespace sherd::models
