#include "sherd/runtime/counting_device.hpp"
#include "sherd/runtime/emulated_device.hpp"
#include "sherd/runtime/team.hpp"
#include "tensor/kernel/cublaslt_matmul.hpp"
#include "tensor/kernel/matmul_f64.hpp"
#include "tensor/kernel/product.hpp"
#include "tensor/kernel/scratch.hpp"

namespace sherd::kernel {
namespace {

void multiply_on_host(const onednn::Product& p, const void* a, const void* b, void* c) {
  if (p.in == DType::f64) {
    matmul_f64({p.m, p.n, p.k, p.trans_a, p.trans_b, p.accumulate}, static_cast<const double*>(a),
               static_cast<const double*>(b), static_cast<double*>(c));
  } else {
    multiply(p, a, b, c);
  }
}

const void* moved(const void* data, std::int64_t elements, DType dtype) {
  return static_cast<const std::byte*>(data) + elements * static_cast<std::int64_t>(size_of(dtype));
}

void multiply_batch(const onednn::Product& p, const void* a, const void* b, void* c,
                    const Batch& batch) {
  runtime::for_blocks(batch.count, [&](std::int64_t i) {
    multiply_on_host(p, moved(a, i * batch.stride_a, p.in), moved(b, i * batch.stride_b, p.in),
                     const_cast<void*>(moved(c, i * batch.stride_c, p.out)));
  });
}

/// The f32 copies that multiply() makes of what the processor does not multiply itself.
void count_widened(const runtime::Device& device, const onednn::Product& p) {
  if (p.in == DType::f64 || is_native_at(&device, p.in, p.out)) {
    return;
  }
  const auto copies = [&](DType dtype, std::int64_t elements) {
    return Scratch<float>(dtype == DType::f32 ? 0 : elements, &device);
  };
  const auto a = copies(p.in, p.m * p.k);
  const auto b = copies(p.in, p.k * p.n);
  const auto c = copies(p.out, p.m * p.n);
}

}  // namespace

bool is_native_at(const runtime::Device* device, DType in, DType out) noexcept {
  if (device == nullptr || device->counting() == nullptr || in != DType::bf16) {
    return is_native(in, out);
  }
  return out != DType::f16 && device->counting()->native_bf16;
}

void multiply_at(runtime::Device* device, const onednn::Product& product, const void* a,
                 const void* b, void* c, const Batch& batch) {
  if (device == nullptr) {
    return multiply_batch(product, a, b, c, batch);
  }
  if (device->counting() != nullptr) {
    return count_widened(*device, product);
  }
  if (auto* emulated = runtime::as_emulated(device->compute_stream()); emulated != nullptr) {
    return emulated->execute([=] { multiply_batch(product, a, b, c, batch); });
  }
  cublaslt::multiply(*device, product, a, b, c, batch);
}

}  // namespace sherd::kernel
