#pragma once

namespace sherd::runtime {

/// One thread per rank for libraries that use OpenMP (oneDNN, BLAS), unless the user has chosen a
/// number with OMP_NUM_THREADS. To be called before such a library does its first work.
void limit_library_threads();

}  // namespace sherd::runtime
