#pragma once

#include <functional>
#include <string>

namespace sherd::runtime {

/// What started this process, read from the environment (before MPI adds its own variables).
struct Launch {
  std::string launcher = "none";  ///< "mpirun", "mpiexec (PMI)", "srun (PMIx)", "srun", "none"
  int processes = 1;              ///< how many the launcher says it has started
};

/// Reads a variable of the environment; null when it is not set.
using Environment = std::function<const char*(const char*)>;

[[nodiscard]] Launch detect_launch(const Environment& environment);
[[nodiscard]] Launch detect_launch();

/// Throws ConfigError when the launcher started several processes and MPI sees one: each would
/// train alone and overwrite the others' files.
void refuse_singleton(const Launch& launch, int mpi_size);

}  // namespace sherd::runtime
