#pragma once

namespace sherd::runtime {

/// Says how many threads libraries that use OpenMP (oneDNN, Kokkos built with it) may have in this
/// rank, unless the user has with OMP_NUM_THREADS. To be called by the thread that will call them,
/// before they do their first work.
void set_library_threads(int threads);

}  // namespace sherd::runtime
