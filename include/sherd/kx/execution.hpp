#pragma once

#include <Kokkos_Core.hpp>
#include <map>
#include <mutex>

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

#if defined(KOKKOS_ENABLE_CUDA)
/// The execution space on a stream of somebody else's, for the process's one device. It is made at
/// the first use of the stream and kept until Kokkos ends. Thread-safe.
[[nodiscard]] inline Kokkos::Cuda cuda_space(void* stream) {
  struct Spaces {
    Spaces() {
      Kokkos::push_finalize_hook([this] { by_stream.clear(); });
    }
    std::mutex mutex;
    std::map<void*, Kokkos::Cuda> by_stream;
  };
  static Spaces& spaces = *new Spaces;
  const std::lock_guard lock(spaces.mutex);
  auto found = spaces.by_stream.find(stream);
  if (found == spaces.by_stream.end()) {
    found = spaces.by_stream.emplace(stream, Kokkos::Cuda(static_cast<cudaStream_t>(stream))).first;
  }
  return found->second;
}
#endif

}  // namespace sherd::kx
