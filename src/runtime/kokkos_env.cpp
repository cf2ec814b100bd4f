#include "runtime/kokkos_env.hpp"

#include <Kokkos_Core.hpp>

namespace sherd::runtime {

KokkosEnv::KokkosEnv(int& argc, char** argv) : owned_(!Kokkos::is_initialized()) {
  if (owned_) {
    Kokkos::initialize(argc, argv);
  }
}

KokkosEnv::~KokkosEnv() {
  if (owned_ && Kokkos::is_initialized()) {
    Kokkos::finalize();
  }
}

}  // namespace sherd::runtime
