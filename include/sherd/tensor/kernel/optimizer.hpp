#pragma once

#include <cstdint>
#include <span>

#include "sherd/tensor/kernel/path.hpp"
#include "sherd/tensor/tensor.hpp"

namespace sherd::kernel {

struct AdamWParams {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  double grad_scale = 1.0;  ///< multiplies the gradient first (clipping, loss scale)
  std::int64_t step = 1;    ///< counts from 1, for the bias corrections
};

/// One AdamW update of a 1-D range (Loshchilov and Hutter 2019, arXiv 1711.05101, algorithm 2;
/// decay p -= lr*wd*p before the step, as PyTorch does). param, exp_avg, exp_avg_sq: f32 (or f64),
/// grad the same dtype. `compute` may be undefined; otherwise it receives param rounded to its
/// dtype. One pass over memory.
void adamw_step(const AdamWParams& params, const Tensor& param, const Tensor& grad,
                const Tensor& exp_avg, const Tensor& exp_avg_sq, const Tensor& compute,
                Path path = Path::automatic);

struct SgdParams {
  double learning_rate = 1e-2;
  double momentum = 0.0;
  double weight_decay = 0.0;
  double grad_scale = 1.0;
  bool first_step = false;  ///< momentum_buffer is set to the gradient instead of blended
};
/// One SGD update (PyTorch's form: v = momentum*v + g; p -= lr*v). momentum_buffer undefined:
/// plain.
void sgd_step(const SgdParams& params, const Tensor& param, const Tensor& grad,
              const Tensor& momentum_buffer, const Tensor& compute);

/// What one pass over a reduced gradient yields.
struct GradStats {
  double sum_of_squares = 0.0;
  std::int64_t nonfinite = 0;
};

/// dst (+)= sources[0] + sources[1] + ... elementwise in that order, and the statistics of what
/// `dst` holds afterwards, in one pass. All f32 (or all f64) 1-D of equal length.
GradStats sum_sources(std::span<const Tensor> sources, const Tensor& dst, bool accumulate,
                      Path path = Path::automatic);
/// The statistics alone. Here and in sum_sources() squares are summed in f64 in a fixed order
/// (blocks of 4096 elements, each in 16 lanes), so the same data yields the same bits on every
/// instruction set and path.
[[nodiscard]] GradStats grad_stats(const Tensor& grad);

}  // namespace sherd::kernel
