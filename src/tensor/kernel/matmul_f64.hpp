#pragma once

#include <cstdint>

namespace sherd::kernel {

struct ProductF64 {
  std::int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false, accumulate = false;
};

/// A plain blocked loop: f64 is for gradient checks and small references.
void matmul_f64(const ProductF64& product, const double* a, const double* b, double* c);

}  // namespace sherd::kernel
