#pragma once

#include <memory>
#include <string>

#include "sherd/runtime/topology.hpp"

namespace sherd::runtime {

/// What the process runs on: owns MPI (unless somebody else started it), Kokkos and the device, and
/// ends them in reverse. `main` makes one and passes on what it hands out. Construction is
/// collective over all processes. Starts the team of this rank, which is the calling thread's as
/// long as this lives, and lets OpenMP libraries have as many threads. Throws ConfigError when N
/// processes were launched but MPI sees one (a launcher without PMIx), or OMP_NUM_THREADS is no
/// number of threads.
class Runtime {
 public:
  Runtime(int& argc, char**& argv);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int size() const noexcept;
  [[nodiscard]] const Topology& topology() const noexcept;

  /// Ends every process of the launch now; does not return. For the top level's catch.
  [[noreturn]] void abort(int exit_code) noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sherd::runtime
