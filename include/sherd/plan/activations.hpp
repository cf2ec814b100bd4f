#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sherd/autograd/function.hpp"
#include "sherd/base/dtype.hpp"
#include "sherd/models/family.hpp"

namespace sherd::plan {

/// One forward and backward of a decoder on one rank.
struct ActivationInput {
  models::ModelSpec model;
  std::int64_t sequences = 1;  ///< of the micro-batch
  std::int64_t sequence_length = 1;
  DType dtype = DType::f32;  ///< the model computes in
  std::optional<autograd::Recompute> checkpointing;
  /// Whether the processor multiplies bf16 itself. Where it does not, and for f16, a product's
  /// operands are copied to f32 while it runs.
  bool native_products = true;
  int threads = 1;  ///< of the rank
};

using models::KeptTensors;

struct ActivationPlan {
  std::vector<KeptTensors> block;  ///< of one block without checkpointing
  std::vector<KeptTensors> root;   ///< beside the blocks
  std::size_t block_bytes = 0;     ///< what one block keeps: all of `block`, or its input alone
  std::size_t root_bytes = 0;
  std::size_t recomputed_bytes = 0;  ///< of `block`, what backward makes again for one block
  std::size_t peak = 0;              ///< most bytes at once, kernels' temporaries included
  std::string peak_at;               ///< "forward of the loss", "backward of layers.3 mlp", ...
};

/// Runs the model's forward and backward where nothing is computed (measure.hpp) and adds what its
/// family says of the tensors that are kept. Parameters and their gradients are not in it. Local.
[[nodiscard]] ActivationPlan plan_activations(const ActivationInput& input);

}  // namespace sherd::plan
