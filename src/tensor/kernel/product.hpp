#pragma once

#include "sherd/runtime/device.hpp"
#include "tensor/kernel/onednn_matmul.hpp"

namespace sherd::kernel {

/// Whether multiply() hands this product to oneDNN as it is.
[[nodiscard]] bool is_native(DType in, DType out) noexcept;

/// The same of multiply_at(): a counting device says itself which processor it stands for.
[[nodiscard]] bool is_native_at(const runtime::Device* device, DType in, DType out) noexcept;

/// Runs a product of f32, bf16 or f16 with m, n, k > 0: as it is where the CPU can, otherwise with
/// narrow operands widened to f32 and the result rounded once. f16 is always widened: oneDNN 2.6
/// has no f16 on CPUs.
void multiply(const onednn::Product& product, const void* a, const void* b, void* c);

/// Equal products whose operands and results lie these numbers of elements apart.
struct Batch {
  std::int64_t count = 1;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;

  friend bool operator==(const Batch&, const Batch&) = default;
};

/// A product of any floating types (f64 with f64 alone) where its operands are: on the host when
/// `device` is null, else on its compute stream; on an emulated device as the host does it. A
/// counting device counts the memory that the host would need for it.
void multiply_at(runtime::Device* device, const onednn::Product& product, const void* a,
                 const void* b, void* c, const Batch& batch = {});

}  // namespace sherd::kernel
