#pragma once

#include <Kokkos_Core.hpp>

// What differs between the supported Kokkos versions (3.4.01 to 5.x) is here and nowhere else. Only
// source files that run Kokkos kernels include this.

namespace sherd::kx {

using HostSpace = Kokkos::DefaultHostExecutionSpace;

[[nodiscard]] inline bool is_initialized() noexcept { return Kokkos::is_initialized(); }

/// Waits for `space`, naming the wait where Kokkos can (3.5 and newer).
template <class Space>
void fence(const Space& space, const char* label) {
#if KOKKOS_VERSION >= 30500
  space.fence(label);
#else
  static_cast<void>(label);
  space.fence();
#endif
}

}  // namespace sherd::kx
