#include "sherd/runtime/emulated_device.hpp"
#include "tensor/kernel/cublaslt_matmul.hpp"
#include "tensor/kernel/matmul_f64.hpp"
#include "tensor/kernel/product.hpp"

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

}  // namespace

void multiply_at(runtime::Device* device, const onednn::Product& product, const void* a,
                 const void* b, void* c) {
  if (device == nullptr) {
    return multiply_on_host(product, a, b, c);
  }
  if (auto* emulated = runtime::as_emulated(device->compute_stream()); emulated != nullptr) {
    return emulated->execute([=] { multiply_on_host(product, a, b, c); });
  }
  cublaslt::multiply(*device, product, a, b, c);
}

}  // namespace sherd::kernel
