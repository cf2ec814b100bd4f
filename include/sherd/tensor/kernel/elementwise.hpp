#pragma once

#include <cstdint>

#include "sherd/tensor/kernel/matmul.hpp"
#include "sherd/tensor/kernel/path.hpp"

namespace sherd::kernel {

/// y = silu(gate) * up, elementwise; equal shapes and dtypes. (Shazeer 2020, arXiv 2002.05202.)
void swiglu_forward(const Tensor& gate, const Tensor& up, const Tensor& y,
                    Path path = Path::automatic);
/// Overwrites dgate and dup.
void swiglu_backward(const Tensor& gate, const Tensor& up, const Tensor& dy, const Tensor& dgate,
                     const Tensor& dup, Path path = Path::automatic);

enum class Activation : std::uint8_t { relu, tanh, silu, gelu_tanh };
void activation_forward(Activation kind, const Tensor& x, const Tensor& y);
void activation_backward(Activation kind, const Tensor& x, const Tensor& dy, const Tensor& dx,
                         Write write_dx);

/// out = a + b, elementwise; equal shapes and dtypes; out may alias either.
void add(const Tensor& a, const Tensor& b, const Tensor& out, Path path = Path::automatic);
/// y (+)= alpha * x, elementwise; x and y may have different floating dtypes.
void scale_into(double alpha, const Tensor& x, const Tensor& y, Write write);
/// y[r, :] = x[r, :] + bias
void add_bias(const Tensor& x, const Tensor& bias, const Tensor& y);
/// dbias (+)= sum over rows of dy; dbias in f32 (f64 for f64).
void sum_rows(const Tensor& dy, const Tensor& dbias, Write write);

}  // namespace sherd::kernel
