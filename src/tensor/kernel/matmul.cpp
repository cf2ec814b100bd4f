#include "sherd/tensor/kernel/matmul.hpp"

#include <fmt/format.h>

#include <utility>

#include "tensor/kernel/arguments.hpp"
#include "tensor/kernel/product.hpp"

namespace sherd::kernel {
namespace {

thread_local std::vector<MatmulRecord>* recording = nullptr;

struct Extents {
  std::int64_t m, n, k;
};

Extents require_product(const Tensor& a, bool trans_a, const Tensor& b, bool trans_b,
                        const Tensor& c) {
  require_memory({&a, &b, &c}, "matmul");
  expect(a.shape().rank() == 2 && b.shape().rank() == 2 && c.shape().rank() == 2,
         "matmul of tensors that are not 2-D. Try: reshape()");
  const Extents e{a.size(trans_a ? 1 : 0), b.size(trans_b ? 0 : 1), a.size(trans_a ? 0 : 1)};
  if (b.size(trans_b ? 1 : 0) != e.k || c.size(0) != e.m || c.size(1) != e.n) {
    throw ArgumentError(fmt::format("matmul {}{} by {}{} into {} (the extents do not fit)",
                                    a.shape().to_string(), trans_a ? " transposed" : "",
                                    b.shape().to_string(), trans_b ? " transposed" : "",
                                    c.shape().to_string()));
  }
  expect(a.dtype() == b.dtype(), "matmul of operands of two dtypes. Try: to_dtype()");
  if (!is_floating(a.dtype())) {
    throw_dtype(a.dtype(), "matmul");
  }
  expect(is_floating(c.dtype()) && (a.dtype() == DType::f64) == (c.dtype() == DType::f64),
         "matmul: the result must be f32, bf16 or f16 (f64 for f64)");
  return e;
}

}  // namespace

void matmul(const Tensor& a, Transpose trans_a, const Tensor& b, Transpose trans_b, const Tensor& c,
            Write write) {
  const bool ta = trans_a == Transpose::yes;
  const bool tb = trans_b == Transpose::yes;
  const auto [m, n, k] = require_product(a, ta, b, tb, c);
  if (recording != nullptr) {
    recording->push_back({m, n, k, trans_a, trans_b, write, a, b, c});
  }
  runtime::Device* device = device_of({&a, &b, &c}, "matmul");
  const bool accumulate = write == Write::accumulate;
  if (m == 0 || n == 0 || k == 0) {
    if (!accumulate) {
      c.fill_zero();
    }
    return;
  }
  multiply_at(device, {m, n, k, a.dtype(), c.dtype(), ta, tb, accumulate}, a.raw(), b.raw(),
              c.raw());
}

std::vector<MatmulRecord>* record_matmuls(std::vector<MatmulRecord>* into) noexcept {
  return std::exchange(recording, into);
}

std::string matmul_implementation(DType dtype) {
  if (dtype == DType::f64) {
    return "sherd: blocked loop";
  }
  if (!is_floating(dtype)) {
    throw_dtype(dtype, "matmul");
  }
  const bool native = is_native(dtype, dtype);
  const DType in = native ? dtype : DType::f32;
  const std::string name = onednn::implementation({256, 256, 256, in, in, false, true, false});
  return native ? name : name + " (through f32)";
}

}  // namespace sherd::kernel
