#pragma once

#include <cstddef>
#include <cstdint>

#include "sherd/train/plan_activations.hpp"

namespace sherd::train {

/// Bytes of the tensors of a step, each for all tokens of the micro-batch.
struct ActivationSizes {
  explicit ActivationSizes(const ActivationInput& input);

  std::size_t hidden, queries, keys, inner, vocab;  ///< [tokens, width] in the compute type
  std::size_t row;                                  ///< one f32 a token
  std::size_t lse;                                  ///< one f32 a token and head
  std::size_t ids;                                  ///< i32 tokens and their targets
  std::size_t tables;                               ///< rotation, f32

  /// What x W^T and its two gradients copy while they run, of widths `in` and `out`.
  [[nodiscard]] std::size_t product(std::int64_t in, std::int64_t out) const;
  [[nodiscard]] std::size_t weight_gradient(std::int64_t in, std::int64_t out) const;
  [[nodiscard]] std::size_t attention_forward() const;
  [[nodiscard]] std::size_t attention_backward() const;

 private:
  ActivationInput input_;
  std::int64_t tokens_;
  bool widened_;  ///< products copy their operands to f32
};

}  // namespace sherd::train
