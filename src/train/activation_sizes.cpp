#include "train/activation_sizes.hpp"

#include <algorithm>

namespace sherd::train {
namespace {

constexpr std::size_t kSingle = 4;  // f32, i32

std::size_t bytes(std::int64_t count, std::size_t each) {
  return static_cast<std::size_t>(count) * each;
}

/// Rows of scores at once, as the attention kernels have it.
constexpr std::int64_t kAttentionBlock = 64;

}  // namespace

ActivationSizes::ActivationSizes(const ActivationInput& input)
    : input_(input),
      tokens_(input.sequences * input.sequence_length),
      widened_(input.dtype == DType::f16 ||
               (input.dtype == DType::bf16 && !input.native_products)) {
  const models::LlamaConfig& model = input.model;
  const std::int64_t head = model.resolved_head_dim();
  const auto tensor = [&](std::int64_t width) {
    return bytes(tokens_ * width, size_of(input_.dtype));
  };
  hidden = tensor(model.hidden_size);
  queries = tensor(model.num_attention_heads * head);
  keys = tensor(model.num_key_value_heads * head);
  inner = tensor(model.intermediate_size);
  vocab = tensor(model.vocab_size);
  row = bytes(tokens_, kSingle);
  lse = bytes(tokens_ * model.num_attention_heads, kSingle);
  ids = bytes(2 * tokens_, kSingle);
  tables = bytes(input.sequence_length * head, kSingle);
}

std::size_t ActivationSizes::product(std::int64_t in, std::int64_t out) const {
  return widened_ ? bytes(tokens_ * in + in * out + tokens_ * out, kSingle) : 0;
}

std::size_t ActivationSizes::weight_gradient(std::int64_t in, std::int64_t out) const {
  return widened_ ? bytes(tokens_ * (in + out), kSingle) : 0;
}

std::size_t ActivationSizes::attention_forward() const {
  const std::int64_t seq = input_.sequence_length;
  const std::int64_t head = input_.model.resolved_head_dim();
  const std::int64_t block = std::min(kAttentionBlock, seq);
  const bool narrow = input_.dtype != DType::f32 && !widened_;
  return bytes(block * seq + block * head + block, kSingle) +
         (widened_ ? bytes(3 * seq * head, kSingle) : 0) + (narrow ? bytes(block * seq, 2) : 0);
}

std::size_t ActivationSizes::attention_backward() const {
  const std::int64_t seq = input_.sequence_length;
  const std::int64_t head = input_.model.resolved_head_dim();
  const std::int64_t block = std::min(kAttentionBlock, seq);
  const bool narrow = input_.dtype != DType::f32 && !widened_;
  return bytes(seq + 2 * block * seq + 3 * seq * head, kSingle) +
         bytes(seq * head, narrow ? 2 : kSingle) + (widened_ ? bytes(3 * seq * head, kSingle) : 0) +
         (narrow ? bytes(2 * block * seq, 2) : 0);
}

}  // namespace sherd::train
