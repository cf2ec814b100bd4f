#pragma once

#include <cstdint>

namespace sherd::kernel {

/// Which implementation of a kernel runs. `automatic` takes the host one where there is one
/// (run-time dispatch over instruction sets) and the Kokkos one elsewhere; tests run both and
/// compare.
enum class Path : std::uint8_t { automatic, kokkos, host };

}  // namespace sherd::kernel
