// config.json of Hugging Face's Llama, read and written.
#include "sherd/models/llama_hf.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/llama/hf_reader.hpp"
#include "models/llama/hf_refusals.hpp"
#include "models/llama/hf_rope.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/json.hpp"

namespace sherd::models {
namespace {

using Json = nlohmann::ordered_json;

/// A sibling whose blocks are a Llama's in every shape.
constexpr const char* kSameShapes = "mistral";

bool has_same_shapes(const HfReader& reader) {
  const Json* type = reader.find("model_type");
  return type != nullptr && *type == kSameShapes;
}

void check_architecture(const HfReader& reader) {
  reader.must_be("model_type", "llama");
  reader.must_be("hidden_act", "silu");
  if (const Json* list = reader.find("architectures")) {
    if (!list->is_array() || list->size() != 1 || (*list)[0] != "LlamaForCausalLM") {
      reader.fail("architectures", quoted_json(*list) +
                                       " is not supported (this version knows "
                                       "[\"LlamaForCausalLM\"]). Try: a causal language model");
    }
  }
}

LlamaConfig read_sizes(const HfReader& reader) {
  LlamaConfig config;
  reader.whole("vocab_size", config.vocab_size, true);
  reader.whole("hidden_size", config.hidden_size, true);
  reader.whole("intermediate_size", config.intermediate_size, true);
  reader.whole("num_hidden_layers", config.num_hidden_layers, true);
  reader.whole("num_attention_heads", config.num_attention_heads, true);
  config.num_key_value_heads = config.num_attention_heads;
  reader.whole("num_key_value_heads", config.num_key_value_heads);
  reader.whole("head_dim", config.head_dim);
  reader.whole("max_position_embeddings", config.max_position_embeddings);
  config.rms_norm_eps = 1e-6;  // what the format means by leaving it out
  reader.real("rms_norm_eps", config.rms_norm_eps);
  reader.real("initializer_range", config.initializer_range);
  reader.flag("tie_word_embeddings", config.tie_word_embeddings);
  reader.flag("attention_bias", config.attention_bias);
  reader.flag("mlp_bias", config.mlp_bias);
  return config;
}

Json scaling_to_json(const RopeScaling& scaling) {
  if (!scaling.given()) {
    return nullptr;
  }
  return {{"rope_type", "llama3"},
          {"factor", scaling.factor},
          {"low_freq_factor", scaling.low_freq_factor},
          {"high_freq_factor", scaling.high_freq_factor},
          {"original_max_position_embeddings", scaling.original_max_position_embeddings}};
}

void check_sizes(const LlamaConfig& config, const std::string& where) {
  try {
    config.check();
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", where, error.what()));
  }
}

}  // namespace

LlamaConfig parse_hf_config(const std::string& json, const std::string& where) {
  const HfReader reader(json, where);
  check_architecture(reader);
  LlamaConfig config = read_sizes(reader);
  read_rope(reader, config);
  check_sizes(config, where);
  refuse_other_arithmetic(reader, config, ReadFor::running);
  return config;
}

LlamaConfig parse_hf_sizes(const std::string& json, const std::string& where) {
  const HfReader reader(json, where);
  if (!has_same_shapes(reader)) {
    check_architecture(reader);
  }
  LlamaConfig config = read_sizes(reader);
  check_sizes(config, where);
  refuse_other_arithmetic(reader, config, ReadFor::planning);
  return config;
}

std::string hf_name(std::string_view parameter) {
  const bool head = parameter.rfind("lm_head.", 0) == 0;
  return std::string(head ? "" : "model.").append(parameter);
}

std::string to_hf_config(const LlamaConfig& config, DType weights) {
  Json json;
  json["architectures"] = {"LlamaForCausalLM"};
  json["model_type"] = "llama";
  json["hidden_act"] = "silu";
  json["vocab_size"] = config.vocab_size;
  json["hidden_size"] = config.hidden_size;
  json["intermediate_size"] = config.intermediate_size;
  json["num_hidden_layers"] = config.num_hidden_layers;
  json["num_attention_heads"] = config.num_attention_heads;
  json["num_key_value_heads"] = config.num_key_value_heads;
  json["head_dim"] = config.resolved_head_dim();
  json["max_position_embeddings"] = config.max_position_embeddings;
  json["rms_norm_eps"] = config.rms_norm_eps;
  json["rope_theta"] = config.rope_theta;
  json["rope_scaling"] = scaling_to_json(config.rope_scaling);
  json["initializer_range"] = config.initializer_range;
  json["tie_word_embeddings"] = config.tie_word_embeddings;
  json["attention_bias"] = config.attention_bias;
  json["mlp_bias"] = config.mlp_bias;
  json["torch_dtype"] = weights == DType::bf16  ? "bfloat16"
                        : weights == DType::f16 ? "float16"
                                                : "float32";
  return json.dump(2) + "\n";
}

}  // namespace sherd::models
