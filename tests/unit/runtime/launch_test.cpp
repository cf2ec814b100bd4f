#include "runtime/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "sherd/base/error.hpp"

namespace sherd {
namespace {

using runtime::detect_launch;
using runtime::Environment;
using runtime::Launch;
using testing::HasSubstr;
using testing::Not;

using Variables = std::map<std::string, std::string>;

Environment environment_of(const Variables& variables) {
  return [&variables](const char* name) -> const char* {
    const auto at = variables.find(name);
    return at == variables.end() ? nullptr : at->second.c_str();
  };
}

void expect_launch(const Variables& variables, const char* launcher, const char* variable,
                   int processes) {
  const Launch launch = detect_launch(environment_of(variables));
  EXPECT_EQ(launch.launcher, launcher);
  EXPECT_EQ(launch.variable, variable);
  EXPECT_EQ(launch.processes, processes);
}

TEST(Launch, IsReadFromTheEnvironment) {
  expect_launch({}, "none", "", 1);
  expect_launch({{"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "3"}}, "mpirun",
                "OMPI_COMM_WORLD_SIZE", 4);
  expect_launch({{"MV2_COMM_WORLD_SIZE", "4"}}, "mpirun_rsh", "MV2_COMM_WORLD_SIZE", 4);
  expect_launch({{"PMI_SIZE", "3"}, {"PMI_RANK", "0"}, {"MPI_LOCALNRANKS", "3"}}, "mpiexec (Hydra)",
                "PMI_SIZE", 3);
  expect_launch({{"PMI_SIZE", "3"}, {"PMI_RANK", "0"}}, "mpiexec (PMI)", "PMI_SIZE", 3);
  expect_launch({{"FLUX_JOB_SIZE", "2"}, {"PMI_SIZE", "2"}}, "flux run", "FLUX_JOB_SIZE", 2);
}

TEST(Launch, OfSrunIsReadFromItsStep) {
  expect_launch({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"PMIX_RANK", "0"}}, "srun (PMIx)",
                "PMIX_RANK", 8);
  expect_launch({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"PMI_RANK", "0"}},
                "srun (PMI)", "PMI_RANK", 2);
  expect_launch({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "2"}},
                "srun", "SLURM_STEP_NUM_TASKS", 2);
}

TEST(Launch, ThePmixStoreInSharedMemoryIsAvoidedUnderSrunUnlessChosen) {
  const auto reads = [](const Variables& variables) {
    return runtime::reads_shared_pmix_store(environment_of(variables));
  };
  EXPECT_TRUE(reads({{"SLURM_PROCID", "0"}, {"PMIX_RANK", "0"}}));
  EXPECT_FALSE(reads({{"SLURM_PROCID", "0"}, {"PMIX_RANK", "0"}, {"PMIX_MCA_gds", "ds21"}}));
  EXPECT_FALSE(reads({{"SLURM_PROCID", "0"}, {"PMIX_RANK", "0"}, {"OMPI_COMM_WORLD_RANK", "0"}}));
  EXPECT_FALSE(reads({{"SLURM_PROCID", "0"}, {"PMI_RANK", "0"}}));
  EXPECT_FALSE(reads({}));
}

TEST(Launch, ABatchScriptIsNoStep) {
  expect_launch({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "1"}}, "none", "",
                1);
}

TEST(Launch, MpirunInsideAnAllocationCountsItsOwnProcesses) {
  expect_launch({{"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}},
                "mpirun", "OMPI_COMM_WORLD_SIZE", 1);
  // Daemons that srun has started, one a node, and what Hydra's start.
  expect_launch({{"PMI_SIZE", "6"},
                 {"PMI_RANK", "4"},
                 {"MPI_LOCALNRANKS", "3"},
                 {"SLURM_PROCID", "1"},
                 {"SLURM_STEP_NUM_TASKS", "2"}},
                "mpiexec (Hydra)", "PMI_SIZE", 6);
}

TEST(Launch, ARankAloneSaysThatThereAreOthers) {
  expect_launch({{"PMIX_RANK", "3"}}, "a PMI launcher", "PMIX_RANK", 4);
  expect_launch({{"PMI_RANK", "1"}}, "a PMI launcher", "PMI_RANK", 2);
}

std::string refusal(const Launch& launch) {
  try {
    runtime::refuse_singleton(launch, 1, "Open MPI v4.1.4");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Launch, ManyProcessesThatMpiSeesAsOneAreRefused) {
  EXPECT_THAT(
      refusal({"srun", "SLURM_STEP_NUM_TASKS", 8}),
      testing::AllOf(HasSubstr("srun has 8 processes, says SLURM_STEP_NUM_TASKS, but MPI "
                               "sees only one"),
                     HasSubstr("srun --mpi=pmix, or mpirun"), HasSubstr("Open MPI v4.1.4")));
  EXPECT_THAT(refusal({"mpiexec (Hydra)", "PMI_SIZE", 2}),
              testing::AllOf(HasSubstr("2 processes, says PMI_SIZE"), Not(HasSubstr("srun"))));
  EXPECT_EQ(refusal({"none", "", 1}), "");
  runtime::refuse_singleton({"srun", "SLURM_STEP_NUM_TASKS", 8}, 8, "Open MPI v4.1.4");
}

bool refused_without_pmi(const Launch& launch, const char* mpi_library) {
  try {
    runtime::refuse_without_pmi(launch, mpi_library);
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("srun has 4 processes"),
                                             HasSubstr("Try: srun --mpi=pmix, or mpirun")));
    return true;
  }
  return false;
}

TEST(Launch, SrunThatDoesNotConnectItsProcessesIsRefusedBeforeMpiStarts) {
  EXPECT_TRUE(refused_without_pmi({"srun", "SLURM_STEP_NUM_TASKS", 4}, "Open MPI v4.1.4"));
  EXPECT_FALSE(refused_without_pmi({"srun", "SLURM_STEP_NUM_TASKS", 1}, "Open MPI v4.1.4"));
  EXPECT_FALSE(refused_without_pmi({"srun (PMIx)", "PMIX_RANK", 4}, "Open MPI v4.1.4"));
  EXPECT_FALSE(refused_without_pmi({"srun", "SLURM_STEP_NUM_TASKS", 4}, "MPICH Version: 4.1"));
}

TEST(SlurmJob, IsReadFromTheEnvironment) {
  const Variables variables = {{"SLURM_JOB_ID", "17"},
                               {"SLURM_JOB_NAME", "train"},
                               {"SLURM_JOB_NODELIST", "cn[0-1]"},
                               {"SLURM_RESTART_COUNT", "2"},
                               {"SLURM_NTASKS", "8"}};
  const runtime::SlurmJob job = runtime::detect_slurm_job(environment_of(variables));
  EXPECT_EQ(job.id, "17");
  EXPECT_EQ(job.name, "train");
  EXPECT_EQ(job.nodes, "cn[0-1]");
  EXPECT_EQ(job.restarts, 2);
  EXPECT_EQ(job.tasks, 8);
  EXPECT_EQ(runtime::detect_slurm_job(environment_of({})).id, "");
}

}  // namespace
}  // namespace sherd
