#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sherd/tensor/tensor.hpp"

namespace sherd::kernel {

enum class Transpose : std::uint8_t { no, yes };
/// Whether a kernel replaces what its destination holds or adds to it.
enum class Write : std::uint8_t { overwrite, accumulate };

/// c[m,n] (+)= op(a)[m,k] * op(b)[k,n], all dense row-major 2-D tensors as stored; `trans_a` says a
/// is stored [k,m], `trans_b` that b is stored [n,k]. f32, bf16 and f16 inputs (equal dtypes) with
/// output in any of the three go through oneDNN (bf16 through f32 where the CPU has no bf16
/// instructions, f16 always); f64 through a plain blocked loop. Accumulation is in f32 (f64 for
/// f64), results are rounded once. m, n or k may be zero; k == 0 with overwrite writes zeros.
/// Local. Deterministic for equal shapes. On a CUDA device cuBLASLt multiplies, f32 in f32.
void matmul(const Tensor& a, Transpose trans_a, const Tensor& b, Transpose trans_b, const Tensor& c,
            Write write = Write::overwrite);

/// One product as matmul() saw it, for replaying a step's products (bench/step).
struct MatmulRecord {
  std::int64_t m = 0, n = 0, k = 0;
  Transpose trans_a = Transpose::no, trans_b = Transpose::no;
  Write write = Write::overwrite;
  Tensor a, b, c;  ///< the very buffers (kept alive by the record)
};

/// While `into` is not null every matmul() of this thread appends to it. Returns the previous one.
std::vector<MatmulRecord>* record_matmuls(std::vector<MatmulRecord>* into) noexcept;

/// What oneDNN runs for this product here, e.g. "brgemm:avx512_core_bf16", for `sherd info`.
[[nodiscard]] std::string matmul_implementation(DType dtype);

}  // namespace sherd::kernel
