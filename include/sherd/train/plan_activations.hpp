#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sherd/autograd/function.hpp"
#include "sherd/base/dtype.hpp"
#include "sherd/models/llama.hpp"

namespace sherd::train {

/// One forward and backward of a Llama on one rank.
struct ActivationInput {
  models::LlamaConfig model;
  std::int64_t sequences = 1;  ///< of the micro-batch
  std::int64_t sequence_length = 1;
  DType dtype = DType::f32;  ///< the model computes in
  std::optional<autograd::Recompute> checkpointing;
  /// Whether the processor multiplies bf16 itself. Where it does not, and for f16, a product's
  /// operands are copied to f32 while it runs.
  bool native_products = true;
};

/// Tensors that live from a forward operation to its backward, and how their size follows from the
/// model's (T tokens, H heads, e bytes an element; other letters as in docs/plan.md).
struct KeptTensors {
  std::string what;
  std::string formula;
  std::size_t bytes = 0;
};

struct ActivationPlan {
  std::vector<KeptTensors> block;  ///< of one block without checkpointing
  std::vector<KeptTensors> root;   ///< beside the blocks
  std::size_t block_bytes = 0;     ///< what one block keeps: all of `block`, or its input alone
  std::size_t root_bytes = 0;
  std::size_t recomputed_bytes = 0;  ///< of `block`, what backward makes again for one block
  std::size_t peak = 0;              ///< most bytes at once, kernels' temporaries included
  std::string peak_at;               ///< "forward of the loss", "backward of layers.3 mlp", ...
};

/// Follows every operation of the forward and the backward as src/nn and src/autograd run it and
/// adds up what is alive. Parameters and their gradients are not in it. Local; pure arithmetic.
[[nodiscard]] ActivationPlan plan_activations(const ActivationInput& input);

}  // namespace sherd::train
