#include "models/llama/kept.hpp"

namespace sherd::models {
namespace {

constexpr std::size_t kSingle = 4;  // f32, i32

std::size_t bytes(std::int64_t count, std::size_t each) {
  return static_cast<std::size_t>(count) * each;
}

}  // namespace

KeptTables kept_tensors(const LlamaConfig& model, const MicroBatch& batch) {
  const std::int64_t tokens = batch.sequences * batch.sequence_length;
  const std::int64_t head = model.resolved_head_dim();
  const auto tensor = [&](std::int64_t width) {
    return bytes(tokens * width, size_of(batch.dtype));
  };
  const std::size_t hidden = tensor(model.hidden_size);
  const std::size_t queries = tensor(model.num_attention_heads * head);
  const std::size_t keys = tensor(model.num_key_value_heads * head);
  const std::size_t inner = tensor(model.intermediate_size);
  const std::size_t row = bytes(tokens, kSingle);
  const std::size_t lse = bytes(tokens * model.num_attention_heads, kSingle);
  return {.block = {{"input", "T*h*e", hidden},
                    {"input_layernorm, 1/rms", "T*h*e + 4*T", hidden + row},
                    {"q, k, v", "T*(q + 2*kv)*e", queries + 2 * keys},
                    {"attention, log-sum-exp", "T*q*e + 4*T*H", queries + lse},
                    {"sum after attention", "T*h*e", hidden},
                    {"post_attention_layernorm, 1/rms", "T*h*e + 4*T", hidden + row},
                    {"gate, up, their product", "3*T*f*e", 3 * inner}},
          .root = {{"token ids, targets", "8*T", bytes(2 * tokens, kSingle)},
                   {"rotation tables", "4*S*d", bytes(batch.sequence_length * head, kSingle)},
                   {"norm's input", "T*h*e", hidden},
                   {"norm, 1/rms", "T*h*e + 4*T", hidden + row},
                   {"logits (their gradient in place)", "T*V*e", tensor(model.vocab_size)},
                   {"log-sum-exp of the logits, loss", "4*T + 8", row + 8}}};
}

}  // namespace sherd::models
