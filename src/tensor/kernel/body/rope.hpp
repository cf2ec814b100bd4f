#pragma once

#include "tensor/kernel/scalar.hpp"

namespace sherd::kernel {

/// Items are the rows of the unpacked side, batch*seq; each row holds every head.
template <class T>
struct RopePack {
  static constexpr std::int64_t grain = 8;
  const T* x;
  T* y;
  const Compute<T>* cos;  // null: no rotation
  const Compute<T>* sin;
  std::int64_t heads;
  std::int64_t seq;
  std::int64_t head_dim;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t b = r / seq;
      const std::int64_t s = r % seq;
      for (std::int64_t h = 0; h < heads; ++h) {
        const T* from = x + (r * heads + h) * head_dim;
        T* to = y + ((b * heads + h) * seq + s) * head_dim;
        head(from, to, s);
      }
    }
  }

  SHERD_KERNEL_INLINE void head(const T* from, T* to, std::int64_t s) const {
    using A = Compute<T>;
    if (cos == nullptr) {
#pragma omp simd
      for (std::int64_t i = 0; i < head_dim; ++i) {
        to[i] = from[i];
      }
      return;
    }
    const std::int64_t half = head_dim / 2;
    const A* c = cos + s * half;
    const A* n = sin + s * half;
#pragma omp simd
    for (std::int64_t i = 0; i < half; ++i) {
      const A first = load(from[i]);
      const A second = load(from[half + i]);
      to[i] = store<T>(first * c[i] - second * n[i]);
      to[half + i] = store<T>(second * c[i] + first * n[i]);
    }
  }
};

template <class T>
struct RopeUnpack {
  static constexpr std::int64_t grain = 8;
  const T* dy;
  T* dx;
  const Compute<T>* cos;  // null: no rotation
  const Compute<T>* sin;
  std::int64_t heads;
  std::int64_t seq;
  std::int64_t head_dim;
  bool accumulate;

  SHERD_KERNEL_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t b = r / seq;
      const std::int64_t s = r % seq;
      for (std::int64_t h = 0; h < heads; ++h) {
        const T* from = dy + ((b * heads + h) * seq + s) * head_dim;
        T* to = dx + (r * heads + h) * head_dim;
        if (cos == nullptr) {
          plain(from, to);
        } else {
          rotated(from, to, s);
        }
      }
    }
  }

  SHERD_KERNEL_INLINE void plain(const T* from, T* to) const {
    using A = Compute<T>;
#pragma omp simd
    for (std::int64_t i = 0; i < head_dim; ++i) {
      to[i] = store<T>((accumulate ? load(to[i]) : A{0}) + load(from[i]));
    }
  }

  SHERD_KERNEL_INLINE void rotated(const T* from, T* to, std::int64_t s) const {
    using A = Compute<T>;
    const std::int64_t half = head_dim / 2;
    const A* c = cos + s * half;
    const A* n = sin + s * half;
#pragma omp simd
    for (std::int64_t i = 0; i < half; ++i) {
      const A first = load(from[i]);
      const A second = load(from[half + i]);
      const A old_first = accumulate ? load(to[i]) : A{0};
      const A old_second = accumulate ? load(to[half + i]) : A{0};
      to[i] = store<T>(old_first + (first * c[i] + second * n[i]));
      to[half + i] = store<T>(old_second + (second * c[i] - first * n[i]));
    }
  }
};

}  // namespace sherd::kernel
