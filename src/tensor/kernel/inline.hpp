#pragma once

// For the bodies of kernels: inlined into the driver that runs them, so that they are compiled for
// that driver's instruction set (or device).
#if defined(__CUDACC__) || defined(__HIPCC__)
#define SHERD_KERNEL_INLINE __host__ __device__ inline
#else
#define SHERD_KERNEL_INLINE [[gnu::always_inline]] inline
#endif
