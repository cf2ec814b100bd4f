#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "sherd/base/dtype.hpp"
#include "sherd/nn/module.hpp"

namespace sherd::plan {

struct MeasureOptions {
  DType dtype = DType::f32;  ///< floating parameters have
  /// Whether the processor multiplies bf16 itself. Where it does not, and for f16, a product's
  /// operands are copied to f32 while it runs.
  bool native_products = true;
  int threads = 1;  ///< of the rank: some kernels take memory for each
};

/// Bytes of a step beside parameters and their gradients, which are there before it.
struct ActivationPeak {
  std::size_t bytes = 0;  ///< most at once, kernels' temporaries included
  std::string at;         ///< "forward of the loss", "backward of layers.3 mlp", ...
  std::size_t kept = 0;   ///< when forward is over, the loss included
  std::size_t block = 0;  ///< of them, what the last element of a list in the module added
};

/// One forward and backward of `module` on a counting device (runtime/counting_device.hpp): nothing
/// is computed and no memory is taken, but every operation asks for memory as it would in a step on
/// the host. `loss` calls the module and returns the scalar to go back from; tensors that it makes
/// must be in device memory (MemoryKind::device), or to be left out of the figures. Operations that
/// read elements on the host read nonsense.
///
/// The module's parameters may be meta; they have other data and no gradients meanwhile, and their
/// hooks are gone afterwards. Local; one thread.
[[nodiscard]] ActivationPeak measure_activations(
    nn::Module& module, const MeasureOptions& options,
    const std::function<nn::Variable(nn::Module&)>& loss);

}  // namespace sherd::plan
