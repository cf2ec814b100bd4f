#pragma once

#include "sherd/tensor/kernel/elementwise.hpp"
#include "tensor/kernel/scalar.hpp"

namespace sherd::kernel {

/// value() and slope() of one activation, in the compute type.
struct Relu {
  template <class A>
  SHERD_KERNEL_INLINE static A value(A x) {
    return x < A{0} ? A{0} : x;  // NaN passes
  }
  template <class A>
  SHERD_KERNEL_INLINE static A slope(A x) {
    return x <= A{0} ? A{0} : A{1};
  }
};

struct Silu {
  template <class A>
  SHERD_KERNEL_INLINE static A value(A x) {
    return x / (A{1} + exp_bounded(-x));
  }
  template <class A>
  SHERD_KERNEL_INLINE static A slope(A x) {
    const A sigmoid = A{1} / (A{1} + exp_bounded(-x));
    return sigmoid + x * sigmoid * (A{1} - sigmoid);
  }
};

struct Tanh {
  template <class A>
  SHERD_KERNEL_INLINE static A value(A x) {
    return std::tanh(x);
  }
  template <class A>
  SHERD_KERNEL_INLINE static A slope(A x) {
    const A t = std::tanh(x);
    return A{1} - t * t;
  }
};

/// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), as GPT-2 has it: x sigmoid(2 z).
struct GeluTanh {
  template <class A>
  SHERD_KERNEL_INLINE static A inner(A x) {
    return A(1.5957691216057308) * x * (A{1} + A(0.044715) * x * x);
  }
  template <class A>
  SHERD_KERNEL_INLINE static A value(A x) {
    return x / (A{1} + exp_bounded(-inner(x)));
  }
  template <class A>
  SHERD_KERNEL_INLINE static A slope(A x) {
    const A sigmoid = A{1} / (A{1} + exp_bounded(-inner(x)));
    const A inner_slope = A(1.5957691216057308) * (A{1} + A(0.134145) * x * x);
    return sigmoid + x * sigmoid * (A{1} - sigmoid) * inner_slope;
  }
};

template <class T, class F>
struct ActivationForward {
  static constexpr std::int64_t grain = 16384;
  const T* x;
  T* y;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      y[i] = store<T>(F::value(load(x[i])));
    }
  }
};

template <class T, class F>
struct ActivationBackward {
  static constexpr std::int64_t grain = 16384;
  const T* x;
  const T* dy;
  T* dx;
  bool accumulate;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    using A = Compute<T>;
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      const A old = accumulate ? load(dx[i]) : A{0};
      dx[i] = store<T>(old + load(dy[i]) * F::slope(load(x[i])));
    }
  }
};

}  // namespace sherd::kernel
