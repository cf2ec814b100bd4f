#include "tensor/kernel/matmul_f64.hpp"

#include <algorithm>

#include "tensor/kernel/launch.hpp"

namespace sherd::kernel {
namespace {

/// Items are rows of c. For each row, blocks of k go by in order, so every element sums over k in
/// ascending order.
struct RowsF64 {
  static constexpr std::int64_t grain = 1;
  static constexpr std::int64_t kBlock = 64;
  ProductF64 p;
  const double* a;
  const double* b;
  double* c;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t k0 = 0; k0 < p.k; k0 += kBlock) {
      const std::int64_t k1 = std::min(p.k, k0 + kBlock);
      for (std::int64_t i = begin; i < end; ++i) {
        for (std::int64_t l = k0; l < k1; ++l) {
          add_row(c + i * p.n, a[p.trans_a ? l * p.m + i : i * p.k + l], l, l == 0);
        }
      }
    }
  }

  SHERD_KERNEL_INLINE void add_row(double* row, double factor, std::int64_t l, bool first) const {
    const double* from = b + (p.trans_b ? l : l * p.n);
    const std::int64_t stride = p.trans_b ? p.k : 1;
    const bool replace = first && !p.accumulate;
#pragma omp simd
    for (std::int64_t j = 0; j < p.n; ++j) {
      row[j] = (replace ? 0.0 : row[j]) + factor * from[j * stride];
    }
  }
};

}  // namespace

void matmul_f64(const ProductF64& product, const double* a, const double* b, double* c) {
  launch_host(RowsF64{product, a, b, c}, 0, product.m);
}

}  // namespace sherd::kernel
