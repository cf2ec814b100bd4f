#pragma once

#include "tensor/kernel/scalar.hpp"

namespace sherd::kernel {

/// P: f32 or f64 master parameters; C: element type of the compute copy, which may be null.
template <class P, class C>
struct AdamW {
  static constexpr std::int64_t grain = 16384;
  P* param;
  const P* grad;
  P* exp_avg;
  P* exp_avg_sq;
  C* compute;
  P grad_scale;
  P keep;  // 1 - learning_rate * weight_decay
  P beta1, one_minus_beta1;
  P beta2, one_minus_beta2;
  P step_size;        // learning_rate / (1 - beta1^step)
  P inv_root_second;  // 1 / sqrt(1 - beta2^step)
  P epsilon;

  SHERD_KERNEL_INLINE P update(std::int64_t i) const {
    const P g = grad[i] * grad_scale;
    const P first = beta1 * exp_avg[i] + one_minus_beta1 * g;
    const P second = beta2 * exp_avg_sq[i] + one_minus_beta2 * (g * g);
    exp_avg[i] = first;
    exp_avg_sq[i] = second;
    const P denominator = std::sqrt(second) * inv_root_second + epsilon;
    const P next = param[i] * keep - step_size * first / denominator;
    param[i] = next;
    return next;
  }

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    if (compute == nullptr) {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) {
        update(i);
      }
    } else {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) {
        compute[i] = store<C>(update(i));
      }
    }
  }
};

template <class P, class C>
struct Sgd {
  static constexpr std::int64_t grain = 16384;
  P* param;
  const P* grad;
  P* velocity;  // may be null
  C* compute;   // may be null
  P learning_rate;
  P momentum;  // 0 in the first step
  P weight_decay;
  P grad_scale;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t i = begin; i < end; ++i) {
      P step = grad[i] * grad_scale + weight_decay * param[i];
      if (velocity != nullptr) {
        step = (momentum == P{0} ? P{0} : momentum * velocity[i]) + step;
        velocity[i] = step;
      }
      const P next = param[i] - learning_rate * step;
      param[i] = next;
      if (compute != nullptr) {
        compute[i] = store<C>(next);
      }
    }
  }
};

}  // namespace sherd::kernel
