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

std::string text_in(const Environment& environment, const char* name) {
  const char* text = environment(name);
  return text == nullptr ? "" : text;
}

/// A launcher that says in one variable how many processes it has started. Those that run inside a
/// Slurm step as well (mpirun starts its daemons with srun) come before Slurm itself.
struct CountingLauncher {
  const char* variable;
  const char* name;
  const char* also = nullptr;  // a second variable that must be there
};
constexpr CountingLauncher kBeforeSlurm[] = {
    {"OMPI_COMM_WORLD_SIZE", "mpirun"},
    {"MV2_COMM_WORLD_SIZE", "mpirun_rsh"},
    {"PMI_SIZE", "mpiexec (Hydra)", "MPI_LOCALNRANKS"},
    {"FLUX_JOB_SIZE", "flux run"},
};

/// What srun says of itself where no plugin for MPI has run (MpiDefault=none, --mpi=none).
constexpr const char* kBareSrun = "srun";

Launch srun_step(const Environment& environment) {
  const int step = number_in(environment, "SLURM_STEP_NUM_TASKS");
  const int processes = std::max(1, step > 0 ? step : number_in(environment, "SLURM_NTASKS"));
  if (environment("PMIX_RANK") != nullptr) {
    return {"srun (PMIx)", "PMIX_RANK", processes};
  }
  if (environment("PMI_RANK") != nullptr) {
    return {"srun (PMI)", "PMI_RANK", processes};
  }
  return {kBareSrun, step > 0 ? "SLURM_STEP_NUM_TASKS" : "SLURM_PROCID", processes};
}

/// The batch script itself has SLURM_PROCID, too, but is no step that srun has started.
bool in_srun_step(const Environment& environment) {
  return environment("SLURM_PROCID") != nullptr &&
         (environment("SLURM_STEP_NUM_TASKS") != nullptr || environment("PMIX_RANK") != nullptr ||
          environment("PMI_RANK") != nullptr);
}

Launch started_by(const Environment& environment) {
  for (const CountingLauncher& launcher : kBeforeSlurm) {
    const int processes = number_in(environment, launcher.variable);
    if (processes > 0 && (launcher.also == nullptr || environment(launcher.also) != nullptr)) {
      return {launcher.name, launcher.variable, processes};
    }
  }
  if (in_srun_step(environment)) {
    return srun_step(environment);
  }
  if (const int processes = number_in(environment, "PMI_SIZE"); processes > 0) {
    return {"mpiexec (PMI)", "PMI_SIZE", processes};
  }
  for (const char* rank :
       {"PMIX_RANK", "PMI_RANK"}) {  // says no number: there are this many, or more
    if (environment(rank) != nullptr) {
      return {"a PMI launcher", rank, number_in(environment, rank) + 1};
    }
  }
  return {};
}

const char* from_process(const char* name) { return std::getenv(name); }

}  // namespace

Launch detect_launch(const Environment& environment) { return started_by(environment); }

Launch detect_launch() { return detect_launch(from_process); }

SlurmJob detect_slurm_job(const Environment& environment) {
  SlurmJob job;
  job.id = text_in(environment, "SLURM_JOB_ID");
  job.name = text_in(environment, "SLURM_JOB_NAME");
  job.nodes = text_in(environment, "SLURM_JOB_NODELIST");
  job.restarts = number_in(environment, "SLURM_RESTART_COUNT");
  job.tasks = number_in(environment, "SLURM_NTASKS");
  return job;
}

SlurmJob detect_slurm_job() { return detect_slurm_job(from_process); }

void refuse_without_pmi(const Launch& launch, const std::string& mpi_library) {
  const bool needs_pmix = mpi_library.rfind("Open MPI", 0) == 0;
  validate(launch.launcher != kBareSrun || launch.processes <= 1 || !needs_pmix,
           fmt::format("srun has {} processes, says {}, but has not told {} of the others: "
                       "PMIX_RANK is not set (each process would be alone). Try: srun --mpi=pmix, "
                       "or mpirun",
                       launch.processes, launch.variable, mpi_library));
}

bool reads_shared_pmix_store(const Environment& environment) {
  return environment("SLURM_PROCID") != nullptr && environment("PMIX_RANK") != nullptr &&
         environment("OMPI_COMM_WORLD_RANK") == nullptr && environment("PMIX_MCA_gds") == nullptr;
}

void avoid_shared_pmix_store() {
  if (reads_shared_pmix_store([](const char* name) -> const char* { return std::getenv(name); })) {
    setenv("PMIX_MCA_gds", "hash", 1);
  }
}

void refuse_singleton(const Launch& launch, int mpi_size, const std::string& mpi_library) {
  const bool slurm = launch.launcher.rfind("srun", 0) == 0;
  validate(
      launch.processes <= 1 || mpi_size > 1,
      fmt::format("{} has {} processes, says {}, but MPI sees only one (each would train alone "
                  "and overwrite the others' files). Try: {}mpirun of the MPI that sherd was "
                  "built with ({})",
                  launch.launcher, launch.processes, launch.variable,
                  slurm ? "srun --mpi=pmix, or " : "", mpi_library));
}

}  // namespace sherd::runtime
