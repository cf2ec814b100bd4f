#include "runtime/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "sherd/base/error.hpp"

namespace sherd {
namespace {

using runtime::detect_launch;
using runtime::Launch;

Launch launch_in(const std::map<std::string, std::string>& variables) {
  return detect_launch([&](const char* name) -> const char* {
    const auto at = variables.find(name);
    return at == variables.end() ? nullptr : at->second.c_str();
  });
}

void expect_launch(const std::map<std::string, std::string>& variables, const char* launcher,
                   int processes) {
  const Launch launch = launch_in(variables);
  EXPECT_EQ(launch.launcher, launcher);
  EXPECT_EQ(launch.processes, processes);
}

TEST(Launch, IsReadFromTheEnvironment) {
  expect_launch({}, "none", 1);
  expect_launch({{"OMPI_COMM_WORLD_SIZE", "4"}}, "mpirun", 4);
  expect_launch({{"PMI_SIZE", "3"}}, "mpiexec (PMI)", 3);
  expect_launch({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"PMIX_RANK", "0"}}, "srun (PMIx)",
                8);
  expect_launch({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "2"}},
                "srun", 2);
}

TEST(Launch, MpirunInsideAnAllocationCountsItsOwnProcesses) {
  expect_launch({{"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}},
                "mpirun", 1);
}

TEST(Launch, ManyProcessesThatMpiSeesAsOneAreRefused) {
  try {
    runtime::refuse_singleton({"srun", 8}, 1);
    FAIL() << "nothing was thrown";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("srun has 8 processes but MPI sees only one"));
    EXPECT_THAT(error.what(), testing::HasSubstr("--mpi=pmix"));
  }
  runtime::refuse_singleton({"srun", 8}, 8);
  runtime::refuse_singleton({"none", 1}, 1);
}

}  // namespace
}  // namespace sherd
