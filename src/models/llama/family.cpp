// What the rest of the program knows of Llama.
#include "models/llama/family.hpp"

#include "models/llama/kept.hpp"
#include "models/llama/presets.hpp"
#include "sherd/models/llama.hpp"
#include "sherd/models/llama_hf.hpp"

namespace sherd::models {
namespace {

const LlamaConfig& config_in(const Sizes& sizes) {
  return std::any_cast<const LlamaConfig&>(sizes);
}

/// A field that 0 is a value of, too.
Field from_zero(Field field) {
  field.minimum = 0;
  return field;
}

/// A field that given weights do not depend on.
Field no_arithmetic(Field field) {
  field.arithmetic = false;
  return field;
}

Field positive(Field field) {
  field.real_minimum_excluded = true;
  return field;
}

std::vector<Field> fields() {
  using C = LlamaConfig;
  return {
      field("vocab_size", "token ids", "256", &C::vocab_size),
      field("hidden_size", "width of the model", "256", &C::hidden_size),
      field("intermediate_size", "width inside the MLP", "688", &C::intermediate_size),
      field("num_hidden_layers", "decoder blocks", "4", &C::num_hidden_layers),
      field("num_attention_heads", "query heads", "4", &C::num_attention_heads),
      field("num_key_value_heads", "key and value heads", "4", &C::num_key_value_heads),
      from_zero(field("head_dim", "width of a head; 0: hidden_size / num_attention_heads", "0",
                      &C::head_dim)),
      no_arithmetic(field("max_position_embeddings", "longest sequence", "2048",
                          &C::max_position_embeddings)),
      positive(
          field("rms_norm_eps", "added to the mean square in RMSNorm", "1.0e-5", &C::rms_norm_eps)),
      positive(field("rope_theta", "base of the rotary wavelengths", "10000.0", &C::rope_theta)),
      no_arithmetic(field("initializer_range", "standard deviation of first weights", "0.02",
                          &C::initializer_range)),
      field("tie_word_embeddings", "lm_head shares the embedding", "false",
            &C::tie_word_embeddings),
      field("attention_bias", "biases in q, k, v and o", "false", &C::attention_bias),
      field("mlp_bias", "biases in the MLP", "false", &C::mlp_bias),
  };
}

DecoderFacts facts(const LlamaConfig& config) {
  return {.vocab_size = config.vocab_size,
          .longest_sequence = config.max_position_embeddings,
          .longest_sequence_key = "max_position_embeddings",
          .blocks = config.num_hidden_layers,
          .parameters = config.parameter_count()};
}

std::optional<TiedTensors> tied(const Sizes& sizes) {
  if (!config_in(sizes).tie_word_embeddings) {
    return std::nullopt;
  }
  return TiedTensors{"lm_head.weight", "model.embed_tokens.weight"};
}

}  // namespace

ModelFamily llama_family() {
  return {
      .name = "llama",
      .architecture = "LlamaForCausalLM",
      .fields = fields(),
      .presets = llama_presets(),
      .defaults = [] { return Sizes(LlamaConfig{}); },
      .check = [](const Sizes& sizes) { config_in(sizes).check(); },
      .facts = [](const Sizes& sizes) { return facts(config_in(sizes)); },
      .parse =
          [](const std::string& json, const std::string& where, ReadFor purpose) {
            return Sizes(purpose == ReadFor::planning ? parse_hf_sizes(json, where)
                                                      : parse_hf_config(json, where));
          },
      .write = [](const Sizes& sizes,
                  DType weights) { return to_hf_config(config_in(sizes), weights); },
      .make =
          [](const Sizes& sizes, std::optional<autograd::Recompute> recompute) {
            return std::shared_ptr<nn::Module>(
                std::make_shared<Llama>(config_in(sizes), recompute));
          },
      .kept = [](const Sizes& sizes,
                 const MicroBatch& batch) { return kept_tensors(config_in(sizes), batch); },
      .hf_name = hf_name,
      .hf_ignored_endings = {"rotary_emb.inv_freq"},
      .hf_tied = tied,
  };
}

ModelSpec llama_model(const LlamaConfig& config) { return {*find_family("llama"), config}; }

const LlamaConfig& llama_config(const ModelSpec& model) { return config_in(model.sizes()); }

}  // namespace sherd::models
