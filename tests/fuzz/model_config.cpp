// config.json of a model.
#include <string>
#include <vector>

#include "fuzz/fuzz_target.hpp"
#include "sherd/models/family.hpp"

std::vector<std::string> fuzz_seeds() {
  return {
      R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
 "vocab_size": 256, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
 "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "rms_norm_eps": 1e-05,
 "max_position_embeddings": 128, "rope_theta": 10000.0, "rope_scaling": null,
 "tie_word_embeddings": false, "attention_bias": false, "initializer_range": 0.02})",
      R"({"model_type": "mistral", "vocab_size": 32000, "hidden_size": 64, "num_hidden_layers": 1,
 "intermediate_size": 8, "num_attention_heads": 1, "rope_parameters": {"rope_type": "default",
 "rope_theta": 1e6}, "sliding_window": 4096})",
      R"({"architectures": ["Other"]})"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(sherd::fuzz::text_of(data, size));
  for (const auto purpose : {sherd::models::ReadFor::running, sherd::models::ReadFor::planning}) {
    sherd::fuzz::read_or_refuse([&] {
      const auto model = sherd::models::parse_model(text, "config.json", purpose);
      (void)model.facts();
      (void)sherd::models::parse_model(model.write(), "written", purpose);
    });
  }
  return 0;
}
