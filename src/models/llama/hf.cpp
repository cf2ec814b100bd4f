// config.json of Hugging Face's Llama, read and written.
#include "sherd/models/llama_hf.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sherd/base/error.hpp"
#include "sherd/base/json.hpp"

namespace sherd::models {
namespace {

using Json = nlohmann::ordered_json;

/// One config.json being read; every complaint names the file and the key.
class Reader {
 public:
  Reader(const std::string& text, std::string where) : where_(std::move(where)) {
    json_ = parse_json<Json>(text, where_);
    if (!json_.is_object()) {
      throw ConfigError(fmt::format("{}: does not hold a JSON object", where_));
    }
  }

  [[noreturn]] void fail(const std::string& key, const std::string& problem) const {
    throw ConfigError(fmt::format("{}: {}: {}", where_, key, problem));
  }

  [[nodiscard]] const Json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }

  void whole(const char* key, std::int64_t& out, bool required = false) const {
    const Json* value = find(key);
    if (value == nullptr) {
      if (required) {
        fail(key, "missing (the model's sizes are needed)");
      }
      return;
    }
    if (!value->is_number_integer()) {
      fail(key, quoted_json(*value) + " is not a whole number");
    }
    out = value->get<std::int64_t>();
  }

  void real(const Json& object, const char* key, double& out) const {
    const auto value = object.find(key);
    if (value == object.end() || value->is_null()) {
      return;
    }
    if (!value->is_number()) {
      fail(key, quoted_json(*value) + " is not a number");
    }
    out = value->get<double>();
  }
  void real(const char* key, double& out) const { real(json_, key, out); }

  void flag(const char* key, bool& out) const {
    if (const Json* value = find(key)) {
      if (!value->is_boolean()) {
        fail(key, quoted_json(*value) + " is not true or false");
      }
      out = value->get<bool>();
    }
  }

  void must_be(const char* key, const std::string& wanted) const {
    const Json* value = find(key);
    if (value != nullptr && (!value->is_string() || value->get<std::string>() != wanted)) {
      fail(key, fmt::format("{} is not supported (this version knows \"{}\")", quoted_json(*value),
                            wanted));
    }
  }

 private:
  std::string where_;
  Json json_;
};

/// A sibling whose blocks are a Llama's in every shape.
constexpr const char* kSameShapes = "mistral";

bool has_same_shapes(const Reader& reader) {
  const Json* type = reader.find("model_type");
  return type != nullptr && *type == kSameShapes;
}

void check_architecture(const Reader& reader) {
  reader.must_be("model_type", "llama");
  reader.must_be("hidden_act", "silu");
  if (const Json* list = reader.find("architectures")) {
    if (!list->is_array() || list->size() != 1 || (*list)[0] != "LlamaForCausalLM") {
      reader.fail("architectures", quoted_json(*list) +
                                       " is not supported (this version knows "
                                       "[\"LlamaForCausalLM\"])");
    }
  }
}

/// transformers 4: rope_theta and rope_scaling; transformers 5: rope_parameters.
void read_rope(const Reader& reader, LlamaConfig& config) {
  reader.real("rope_theta", config.rope_theta);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json* rope = reader.find(key);
    if (rope == nullptr) {
      continue;
    }
    if (!rope->is_object()) {
      reader.fail(key, "is not an object");
    }
    for (const char* type_key : {"rope_type", "type"}) {
      const auto type = rope->find(type_key);
      if (type != rope->end() && *type != "default") {
        reader.fail(std::string(key) + "." + type_key,
                    fmt::format("{} is not supported (positions would be rotated wrongly; this "
                                "version knows \"default\")",
                                quoted_json(*type)));
      }
    }
    reader.real(*rope, "rope_theta", config.rope_theta);
  }
}

LlamaConfig read_sizes(const Reader& reader) {
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

void check_sizes(const LlamaConfig& config, const std::string& where) {
  try {
    config.check();
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", where, error.what()));
  }
}

}  // namespace

LlamaConfig parse_hf_config(const std::string& json, const std::string& where) {
  const Reader reader(json, where);
  check_architecture(reader);
  LlamaConfig config = read_sizes(reader);
  read_rope(reader, config);
  check_sizes(config, where);
  return config;
}

LlamaConfig parse_hf_sizes(const std::string& json, const std::string& where) {
  const Reader reader(json, where);
  if (!has_same_shapes(reader)) {
    check_architecture(reader);
  }
  LlamaConfig config = read_sizes(reader);
  check_sizes(config, where);
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
  json["rope_scaling"] = nullptr;
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
