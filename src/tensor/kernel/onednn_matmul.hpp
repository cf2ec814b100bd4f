#pragma once

#include <cstdint>
#include <string>

#include "sherd/base/dtype.hpp"

namespace sherd::kernel::onednn {

/// One dense product c[m,n] (+)= op(a) op(b); `trans_a`: a is stored [k,m]; `trans_b`: b is stored
/// [n,k]. `in` is the dtype of a and b (f32 or bf16), `out` that of c (f32 or bf16).
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  DType in = DType::f32, out = DType::f32;
  bool trans_a = false, trans_b = false, accumulate = false;
  /// Elements from one stored row to the next; 0: rows lie side by side.
  std::int64_t row_a = 0, row_b = 0, row_c = 0;

  friend bool operator==(const Product&, const Product&) = default;
};

struct ProductHash {
  std::size_t operator()(const Product& product) const noexcept;
};

/// Whether this CPU multiplies bf16 in hardware; oneDNN's bf16 products are slow without.
[[nodiscard]] bool has_bf16() noexcept;

/// Whether products run in oneDNN's AVX-512 kernels rather than in its generic ones.
[[nodiscard]] bool has_avx512() noexcept;

/// Runs the product on this thread alone. m, n, k > 0. The primitive is made at the first call of a
/// thread with this shape and kept. Throws ArgumentError when oneDNN refuses.
void run(const Product& product, const void* a, const void* b, void* c);

/// oneDNN's name for what runs this product.
[[nodiscard]] std::string implementation(const Product& product);

}  // namespace sherd::kernel::onednn
