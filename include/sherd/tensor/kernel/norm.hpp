#pragma once

#include "sherd/tensor/kernel/matmul.hpp"
#include "sherd/tensor/kernel/path.hpp"

namespace sherd::kernel {

/// RMSNorm over the last dimension: y = x * inv_rms * weight, inv_rms = 1/sqrt(mean(x^2) + eps),
/// computed in f32 (f64 for f64). x, y: [rows, dim]; weight: [dim] in x's dtype; inv_rms: [rows],
/// f32 (f64 for f64). (Zhang and Sennrich 2019, arXiv 1910.07467.)
void rms_norm_forward(const Tensor& x, const Tensor& weight, double eps, const Tensor& y,
                      const Tensor& inv_rms, Path path = Path::automatic);

/// dx (+)= gradient of x; dweight (+)= gradient of weight, f32 (f64 for f64). Either may be
/// undefined: then it is not computed.
void rms_norm_backward(const Tensor& x, const Tensor& weight, const Tensor& inv_rms,
                       const Tensor& dy, const Tensor& dx, Write write_dx, const Tensor& dweight,
                       Write write_dweight, Path path = Path::automatic);

}  // namespace sherd::kernel
