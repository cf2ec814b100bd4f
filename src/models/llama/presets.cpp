#include "models/llama/presets.hpp"

#include <array>

#include "sherd/models/llama.hpp"

namespace sherd::models {
namespace {

struct Row {
  const char* name;
  std::int64_t vocab, hidden, intermediate, layers, heads, kv_heads, positions;
  bool tied;
};

constexpr std::array<Row, 6> kRows{{
    {"tiny", 256, 192, 512, 4, 6, 2, 1024, false},
    {"125m", 50304, 768, 2048, 12, 12, 12, 2048, true},
    {"1b", 32000, 2048, 5632, 22, 32, 4, 2048, false},
    {"7b", 32000, 4096, 11008, 32, 32, 32, 4096, false},
    {"13b", 32000, 5120, 13824, 40, 40, 40, 4096, false},
    {"70b", 32000, 8192, 28672, 80, 64, 8, 4096, false},
}};

LlamaConfig config_of(const Row& row) {
  LlamaConfig config;
  config.vocab_size = row.vocab;
  config.hidden_size = row.hidden;
  config.intermediate_size = row.intermediate;
  config.num_hidden_layers = row.layers;
  config.num_attention_heads = row.heads;
  config.num_key_value_heads = row.kv_heads;
  config.max_position_embeddings = row.positions;
  config.tie_word_embeddings = row.tied;
  return config;
}

}  // namespace

std::vector<Preset> llama_presets() {
  std::vector<Preset> presets;
  for (const Row& row : kRows) {
    presets.push_back({row.name, config_of(row)});
  }
  return presets;
}

}  // namespace sherd::models
