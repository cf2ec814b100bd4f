// The YAML file of a run. What was read is written and read again.
#include <string>
#include <vector>

#include "fuzz/fuzz_target.hpp"
#include "sherd/config/train_config.hpp"

std::vector<std::string> fuzz_seeds() {
  return {R"(config_version: 1
model: {preset: tiny}
data: {text: [/proc/self/exe], sequence_length: 32, order: shuffled}
training: {steps: 3, global_batch_size: 6, micro_batch_size: 2, max_grad_norm: 1.0, seed: 5}
optimizer: {name: adamw, learning_rate: 1.0e-3, betas: [0.9, 0.95], warmup_steps: 1}
fsdp_config:
  sharding_strategy: FULL_SHARD
  checkpoint_dir: "~/run/$HOME"
checkpoint: {keep_last: 3, resume: auto}
logging:
  directory: 'run'  # here
)",
          R"(x-a: &a {learning_rate: 0.5}
x-b: &b {<<: *a, weight_decay: 0.1}
model:
  vocab_size: 256
  hidden_size: 32
  intermediate_size: 64
  num_hidden_layers: 2
  num_attention_heads: 4
  num_key_value_heads: 2
data: {tokens: /proc/self/exe}
training: {steps: 3}
optimizer: {<<: [*b, *a], momentum: 0.1}
)",
          "---\nmodel: {preset: tiny}\n---\ntraining: {steps: 1}\n"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const sherd::fuzz::MemoryFile file(sherd::fuzz::text_of(data, size));
  sherd::fuzz::read_or_refuse([&] {
    const auto config = sherd::config::load_config(file.path(), {}, {1, 1});
    const sherd::fuzz::MemoryFile again(config.resolved_yaml);
    (void)sherd::config::load_config(again.path(), {}, {1, 1});
  });
  return 0;
}
