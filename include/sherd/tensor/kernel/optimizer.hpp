#pragma once

#include <cstdint>
#include <memory>
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
/// grad the same dtype or a narrower one. `compute` may be undefined; otherwise it receives param
/// rounded to its dtype. One pass over memory. A grad narrower than param (bf16 or f16 beside f32
/// or f64, f32 beside f64) is widened on the way, which is exact: the result is that of the widened
/// gradient.
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
/// plain. The dtypes are those of adamw_step().
void sgd_step(const SgdParams& params, const Tensor& param, const Tensor& grad,
              const Tensor& momentum_buffer, const Tensor& compute);

/// What one pass over a reduced gradient yields.
struct GradStats {
  double sum_of_squares = 0.0;
  std::int64_t nonfinite = 0;
};

class HostCopy;

/// The statistics of a gradient that a device may still be computing.
class PendingStats {
 public:
  /// Of no elements.
  PendingStats() = default;
  /// Waits for the device; at once for tensors in host memory.
  [[nodiscard]] GradStats read() const;

 private:
  friend class BlockResults;
  std::shared_ptr<const HostCopy> squares_;  ///< of every block, f64
  std::shared_ptr<const HostCopy> nonfinite_;
};

/// dst (+)= sources[0] + sources[1] + ... elementwise in that order, and the statistics of what
/// `dst` holds afterwards, in one pass. All f32 (or all f64) 1-D of equal length.
GradStats sum_sources(std::span<const Tensor> sources, const Tensor& dst, bool accumulate,
                      Path path = Path::automatic);
/// The same without waiting for the device the tensors are on; so below.
[[nodiscard]] PendingStats begin_sum_sources(std::span<const Tensor> sources, const Tensor& dst,
                                             bool accumulate, Path path = Path::automatic);
/// Sums in a narrow type: sources (each f32, bf16 or f16, 1-D, of equal length) are widened and
/// added in f32 in that order, the sum is rounded once to `rounded` (f32, bf16 or f16) and stored
/// in or added to dst (f32, f64, bf16 or f16): the addition is in f32 (f64 for f64), rounded once
/// to dst's type. Returns the statistics of what `dst` holds afterwards. Where everything is f32
/// the bits are those of sum_sources(). Overflow of a narrow type gives infinity, which is counted.
GradStats sum_rounded_sources(std::span<const Tensor> sources, DType rounded, const Tensor& dst,
                              bool accumulate);
[[nodiscard]] PendingStats begin_sum_rounded_sources(std::span<const Tensor> sources, DType rounded,
                                                     const Tensor& dst, bool accumulate);
/// The statistics alone, of any floating dtype. Here and in the sums above squares are summed in
/// f64 in a fixed order (blocks of 4096 elements, each in 16 lanes), so the same data yields the
/// same bits on every instruction set and path.
[[nodiscard]] GradStats grad_stats(const Tensor& grad);
[[nodiscard]] PendingStats begin_grad_stats(const Tensor& grad);

/// What a norm other than the Euclidean one sums: |g|, |g|^3, or the largest |g|.
enum class NormKind : std::uint8_t { l1, l3, max };
/// Sum (or maximum) over the elements of any floating dtype, in f64 and in the order grad_stats()
/// has. A NaN anywhere makes it NaN, for `max` too; zero for no elements.
[[nodiscard]] double grad_power_sum(const Tensor& grad, NormKind kind);

/// An index that a device may still be looking for.
class PendingIndex {
 public:
  /// -1 for none. Waits for the device; at once for tensors in host memory.
  [[nodiscard]] std::int64_t read() const;

 private:
  friend PendingIndex begin_first_nonfinite(const Tensor& values);
  std::shared_ptr<const HostCopy> found_;  ///< by block, -1 for none
};

/// Index of the first NaN or infinity among the elements of any floating dtype, -1 if there is
/// none.
[[nodiscard]] std::int64_t first_nonfinite(const Tensor& values);
[[nodiscard]] PendingIndex begin_first_nonfinite(const Tensor& values);

/// Rewrites the memory of `from` (f32, 1-D) as elements of `to` (bf16, f16 or f32) from its start
/// on, rounding to nearest even, and returns the view of them. `from` no longer reads what it held.
[[nodiscard]] Tensor narrow_in_place(const Tensor& from, DType to);

}  // namespace sherd::kernel
