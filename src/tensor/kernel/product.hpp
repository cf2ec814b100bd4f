#pragma once

#include "tensor/kernel/onednn_matmul.hpp"

namespace sherd::kernel {

/// Whether multiply() hands this product to oneDNN as it is.
[[nodiscard]] bool is_native(DType in, DType out) noexcept;

/// Runs a product of f32 or bf16 with m, n, k > 0: as it is where the CPU can, otherwise with bf16
/// operands widened to f32 and the result rounded once.
void multiply(const onednn::Product& product, const void* a, const void* b, void* c);

}  // namespace sherd::kernel
