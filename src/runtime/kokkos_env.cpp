// nvcc compiles this file where Kokkos has CUDA, and fails on sherd/base/error.hpp: nothing is
// thrown here.

#include "runtime/kokkos_env.hpp"

#include <Kokkos_Core.hpp>

namespace sherd::runtime {

KokkosEnv::KokkosEnv(int& argc, char** argv) : owned_(!Kokkos::is_initialized()) {
  if (owned_ && !kokkos_has_cuda()) {
    Kokkos::initialize(argc, argv);
  }
}

KokkosEnv::~KokkosEnv() {
  if (owned_ && Kokkos::is_initialized()) {
    Kokkos::finalize();
  }
}

#if defined(KOKKOS_ENABLE_CUDA)

bool kokkos_has_cuda() noexcept { return true; }

void start_kokkos_on(int cuda_ordinal) {
  if (!Kokkos::is_initialized()) {
    Kokkos::initialize(Kokkos::InitializationSettings().set_device_id(cuda_ordinal));
  }
}

#else

bool kokkos_has_cuda() noexcept { return false; }

void start_kokkos_on(int) {}

#endif

}  // namespace sherd::runtime
