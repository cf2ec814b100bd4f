#pragma once

#include <functional>

#include "sherd/runtime/rank_facts.hpp"

namespace sherd::runtime {

/// Reads a variable of the environment; null when it is not set.
using Environment = std::function<const char*(const char*)>;

/// What started this process. To be read before MPI adds its own variables.
[[nodiscard]] Launch detect_launch(const Environment& environment);
[[nodiscard]] Launch detect_launch();

[[nodiscard]] SlurmJob detect_slurm_job(const Environment& environment);
[[nodiscard]] SlurmJob detect_slurm_job();

/// Throws ConfigError when srun has started several processes without a way to find each other:
/// Open MPI's start would end the process with a page of its own. To be called before it.
void refuse_without_pmi(const Launch& launch, const std::string& mpi_library);

/// Whether this process would read what it is told of the launch from the memory that Slurm's PMIx
/// plugin shares with it: with PMIx 4.2 about one launch of four ranks in fifty lost one that way.
[[nodiscard]] bool reads_shared_pmix_store(const Environment& environment);
/// Then asks for a copy by message instead (PMIX_MCA_gds=hash). To be called before MPI starts.
void avoid_shared_pmix_store();

/// Throws ConfigError when the launcher started several processes and MPI sees one: each would
/// train alone and overwrite the others' files. `mpi_library` is what the program is linked with.
void refuse_singleton(const Launch& launch, int mpi_size, const std::string& mpi_library);

}  // namespace sherd::runtime
