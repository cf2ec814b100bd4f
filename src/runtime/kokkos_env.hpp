#pragma once

namespace sherd::runtime {

/// Starts Kokkos unless somebody else has, and ends it if it was started here.
class KokkosEnv {
 public:
  KokkosEnv(int& argc, char** argv);
  ~KokkosEnv();
  KokkosEnv(const KokkosEnv&) = delete;
  KokkosEnv& operator=(const KokkosEnv&) = delete;

 private:
  bool owned_;
};

}  // namespace sherd::runtime
