#include "sherd/models/llama_presets.hpp"

#include <algorithm>
#include <array>

namespace sherd::models {
namespace {

struct Preset {
  const char* name;
  std::int64_t vocab, hidden, intermediate, layers, heads, kv_heads, positions;
  bool tied;
};

constexpr std::array<Preset, 6> kPresets{{
    {"tiny", 256, 192, 512, 4, 6, 2, 1024, false},
    {"125m", 50304, 768, 2048, 12, 12, 12, 2048, true},
    {"1b", 32000, 2048, 5632, 22, 32, 4, 2048, false},
    {"7b", 32000, 4096, 11008, 32, 32, 32, 4096, false},
    {"13b", 32000, 5120, 13824, 40, 40, 40, 4096, false},
    {"70b", 32000, 8192, 28672, 80, 64, 8, 4096, false},
}};

}  // namespace

std::optional<LlamaConfig> preset_config(const std::string& name) {
  const auto* found = std::find_if(kPresets.begin(), kPresets.end(),
                                   [&](const Preset& preset) { return preset.name == name; });
  if (found == kPresets.end()) {
    return std::nullopt;
  }
  LlamaConfig config;
  config.vocab_size = found->vocab;
  config.hidden_size = found->hidden;
  config.intermediate_size = found->intermediate;
  config.num_hidden_layers = found->layers;
  config.num_attention_heads = found->heads;
  config.num_key_value_heads = found->kv_heads;
  config.max_position_embeddings = found->positions;
  config.tie_word_embeddings = found->tied;
  return config;
}

const std::vector<std::string>& preset_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Preset& preset : kPresets) {
      all.emplace_back(preset.name);
    }
    return all;
  }();
  return names;
}

}  // namespace sherd::models
