#pragma once

namespace sherd::runtime {

/// Starts Kokkos unless somebody else has, and ends it if it was started here. A Kokkos with CUDA
/// cannot be started where no device answers, and takes its device when it starts: it is left to
/// start_kokkos_on().
class KokkosEnv {
 public:
  KokkosEnv(int& argc, char** argv);
  ~KokkosEnv();
  KokkosEnv(const KokkosEnv&) = delete;
  KokkosEnv& operator=(const KokkosEnv&) = delete;

 private:
  bool owned_;
};

/// Whether Kokkos was built with CUDA.
[[nodiscard]] bool kokkos_has_cuda() noexcept;

/// Starts Kokkos on a CUDA device, unless it runs; nothing without CUDA.
void start_kokkos_on(int cuda_ordinal);

}  // namespace sherd::runtime
