#include "runtime/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "sherd/base/check.hpp"

namespace sherd::runtime {
namespace {

int number_in(const Environment& environment, const char* name) {
  const char* text = environment(name);
  return text == nullptr ? 0 : static_cast<int>(std::strtol(text, nullptr, 10));
}

}  // namespace

Launch detect_launch(const Environment& environment) {
  if (const int processes = number_in(environment, "OMPI_COMM_WORLD_SIZE"); processes > 0) {
    return {"mpirun", processes};
  }
  if (const int processes = number_in(environment, "PMI_SIZE");
      processes > 0 && environment("SLURM_PROCID") == nullptr) {
    return {"mpiexec (PMI)", processes};
  }
  if (environment("SLURM_PROCID") != nullptr) {
    const int step = number_in(environment, "SLURM_STEP_NUM_TASKS");
    const int processes = std::max(1, step > 0 ? step : number_in(environment, "SLURM_NTASKS"));
    return {environment("PMIX_RANK") != nullptr ? "srun (PMIx)" : "srun", processes};
  }
  return {};
}

Launch detect_launch() {
  return detect_launch([](const char* name) -> const char* { return std::getenv(name); });
}

void refuse_singleton(const Launch& launch, int mpi_size) {
  validate(launch.processes <= 1 || mpi_size > 1,
           fmt::format("{} has {} processes but MPI sees only one (each would train alone and "
                       "overwrite the others' files). Try: srun --mpi=pmix, or mpirun of the MPI "
                       "that sherd was built with",
                       launch.launcher, launch.processes));
}

}  // namespace sherd::runtime
