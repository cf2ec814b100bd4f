#pragma once

#include <string>
#include <string_view>

#include "sherd/base/dtype.hpp"
#include "sherd/models/llama.hpp"

namespace sherd::models {

/// Reads a Hugging Face config.json of a Llama-family model. `where` names it in messages. Local.
/// Throws ConfigError naming the key: another architecture or activation, rope types other than
/// "default" and "llama3", keys that change the arithmetic (windows, experts, caps, multipliers,
/// quantisation), sizes that no machine holds, keys missing or of the wrong type. Unknown keys are
/// passed over.
[[nodiscard]] LlamaConfig parse_hf_config(const std::string& json, const std::string& where);

/// The sizes in a config.json, for plans: besides what parse_hf_config() takes, Mistral models and
/// any arithmetic that changes no byte, as that of positions. Throws ConfigError.
[[nodiscard]] LlamaConfig parse_hf_sizes(const std::string& json, const std::string& where);

/// Hugging Face's name of one of Llama's parameters: "model." in front of all but lm_head.
[[nodiscard]] std::string hf_name(std::string_view parameter);

/// The config.json that describes the model; `weights` is the dtype of the files beside it.
[[nodiscard]] std::string to_hf_config(const LlamaConfig& config, DType weights = DType::f32);

}  // namespace sherd::models
