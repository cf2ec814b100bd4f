#pragma once

#include <string>

#include "sherd/runtime/device.hpp"
#include "tensor/kernel/product.hpp"

namespace sherd::kernel::cublaslt {

/// The product on the compute stream of a CUDA device. f32 operands are multiplied in f32 (not in
/// TF32), bf16 and f16 accumulate in f32, f64 in f64; what cuBLAS has no combination of types for
/// is computed into f32 and rounded once. The algorithm for a shape is chosen at its first product
/// and kept; none that adds in an order of its own. m, n, k > 0.
void multiply(runtime::Device& device, const onednn::Product& product, const void* a, const void* b,
              void* c, const Batch& batch);

/// "cuBLASLt 13.0.2".
[[nodiscard]] std::string version();

}  // namespace sherd::kernel::cublaslt
