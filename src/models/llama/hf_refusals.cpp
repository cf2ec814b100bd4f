// Keys of config.json that make another model of a Llama, a row each.
#include "models/llama/hf_refusals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sherd/base/error.hpp"
#include "sherd/base/json.hpp"

namespace sherd::models {
namespace {

using Json = HfReader::Json;

/// Whether a value changes nothing in a model of these sizes.
using Harmless = bool (*)(const Json& value, const LlamaConfig& config, const HfReader& reader);

struct Row {
  const char* key;
  Harmless harmless;
  const char* does;
  const char* instead;
  bool changes_sizes = false;
};

bool is_off(const Json& value) {
  return value == false || value == 0 || value == "" || (value.is_structured() && value.empty());
}

bool off(const Json& value, const LlamaConfig& /*config*/, const HfReader& /*reader*/) {
  return is_off(value);
}

bool on(const Json& value, const LlamaConfig& /*config*/, const HfReader& /*reader*/) {
  return value == true;
}

bool one(const Json& value, const LlamaConfig& /*config*/, const HfReader& /*reader*/) {
  return value.is_number() && value.get<double>() == 1.0;
}

bool silu(const Json& value, const LlamaConfig& /*config*/, const HfReader& /*reader*/) {
  return value == "silu";
}

bool usual_scale(const Json& value, const LlamaConfig& config, const HfReader& /*reader*/) {
  const double usual = 1.0 / std::sqrt(static_cast<double>(config.resolved_head_dim()));
  return value.is_number() && std::abs(value.get<double>() - usual) <= 1e-6 * usual;
}

bool head_dim(const Json& value, const LlamaConfig& config, const HfReader& /*reader*/) {
  return value.is_number() &&
         value.get<double>() == static_cast<double>(config.resolved_head_dim());
}

/// A window that no sequence fills is none.
bool wide_window(const Json& value, const LlamaConfig& config, const HfReader& reader) {
  const Json* used = reader.find("use_sliding_window");
  return is_off(value) || (used != nullptr && *used == false) ||
         (value.is_number() &&
          value.get<double>() >= static_cast<double>(config.max_position_embeddings));
}

bool all_full(const Json& value, const LlamaConfig& /*config*/, const HfReader& /*reader*/) {
  return value.is_array() && std::all_of(value.begin(), value.end(),
                                         [](const Json& each) { return each == "full_attention"; });
}

/// Of each layer: whether positions are rotated in it.
bool all_rotated(const Json& value, const LlamaConfig& /*config*/, const HfReader& /*reader*/) {
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& each) {
           return each == 1 || each == true;
         });
}

constexpr const char* kOther = "a model without it";
constexpr const char* kWindow = "null, where no sequence is longer than the window";
constexpr const char* kDense = "a model without experts";
constexpr const char* kDequantised = "the model's bf16 version, or its weights dequantised";
constexpr const char* kNoDropout = "0.0, to train without";

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"sliding_window", wide_window, "attention would see the whole sequence", kWindow},
      {"layer_types", all_full, "some layers attend otherwise", kOther},
      {"attention_chunk_size", off, "attention would cross its chunks", kOther},
      {"num_local_experts", off, "a mixture of experts", kDense, true},
      {"num_experts", off, "a mixture of experts", kDense, true},
      {"n_routed_experts", off, "a mixture of experts", kDense, true},
      {"partial_rotary_factor", one, "a part of each head is not rotated", kOther},
      {"rotary_pct", one, "a part of each head is not rotated", kOther},
      {"rope_ratio", one, "positions are scaled", kOther},
      {"rope_interleaved", off, "neighbours are rotated against each other", kOther},
      {"no_rope_layers", all_rotated, "some layers have no positions", kOther},
      {"attention_multiplier", usual_scale, "scores are scaled otherwise", kOther},
      {"query_pre_attn_scalar", head_dim, "scores are scaled otherwise", kOther},
      {"embedding_multiplier", one, "embeddings are scaled", kOther},
      {"scale_emb", one, "embeddings are scaled", kOther},
      {"residual_multiplier", one, "residuals are scaled", kOther},
      {"logits_scaling", one, "logits are scaled", kOther},
      {"logit_scale", one, "logits are scaled", kOther},
      {"attn_logit_softcapping", off, "scores are capped", kOther},
      {"final_logit_softcapping", off, "logits are capped", kOther},
      {"clip_qkv", off, "queries, keys and values are clipped", kOther},
      {"use_qk_norm", off, "queries and keys are normalised", kOther},
      {"qk_layernorm", off, "queries and keys are normalised", kOther},
      {"qkv_bias", off, "only q, k and v have biases", kOther},
      {"use_parallel_residual", off, "attention and MLP read the same input", kOther},
      {"alibi", off, "positions are biases of scores", kOther},
      {"is_causal", on, "tokens see what follows them", kOther},
      {"use_bidirectional_attention", off, "tokens see what follows them", kOther},
      {"hidden_activation", silu, "the MLP has another activation", "a model of silu"},
      {"attention_dropout", off, "this version has no dropout", kNoDropout},
      {"hidden_dropout", off, "this version has no dropout", kNoDropout},
      {"quantization_config", off, "this program computes with F64, F32, F16 and BF16",
       kDequantised},
  };
  return all;
}

}  // namespace

void refuse_other_arithmetic(const HfReader& reader, const LlamaConfig& config, ReadFor purpose) {
  std::string lines;
  for (const Row& row : rows()) {
    const Json* value = reader.find(row.key);
    const bool matters = row.changes_sizes || purpose == ReadFor::running;
    if (matters && value != nullptr && !row.harmless(*value, config, reader)) {
      lines += fmt::format("{}{}: {}: {} is not supported ({}). Try: {}", lines.empty() ? "" : "\n",
                           reader.where(), row.key, quoted_json(*value), row.does, row.instead);
    }
  }
  if (!lines.empty()) {
    throw ConfigError(lines);
  }
}

}  // namespace sherd::models
