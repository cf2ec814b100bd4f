// How many threads ranks have, on which cores, and what is said where that is not right.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/cpu_quota.hpp"
#include "sherd/base/error.hpp"
#include "sherd/runtime/findings.hpp"
#include "unit/runtime/synthetic_cluster.hpp"

namespace sherd::runtime {
namespace {

using testing::bind_to;
using testing::bound_cluster;
using testing::cluster;
using testing::range;
using Cpus = std::vector<int>;

TEST(ThreadsSaid, ByOmpNumThreads) {
  EXPECT_EQ(threads_said(""), 0);
  EXPECT_EQ(threads_said("1"), 1);
  EXPECT_EQ(threads_said("1000"), 1000);
  EXPECT_EQ(threads_said("2,4"), 2);
  for (const char* bad :
       {"0", "-3", "abc", "2x", " ", ",", ",4", "1e3", "4097", "99999999999999"}) {
    EXPECT_EQ(threads_said(bad), -1) << bad;
  }
}

TEST(ThreadsSaid, AreRefusedOnEveryRankWhereOneSaysNonsense) {
  std::vector<RankFacts> facts = cluster({0, 0});
  facts[1].omp_text = "abc";
  facts[1].omp_num_threads = -1;
  for (const int rank : {0, 1}) {
    const Topology topology = place(rank, facts);
    EXPECT_EQ(topology.threads_of_rank, (std::vector<int>{4, 4}));
    try {
      refuse_errors(topology, false);
      FAIL();
    } catch (const ConfigError& error) {
      EXPECT_STREQ(error.what(),
                   "OMP_NUM_THREADS is 'abc' on rank 1 (it is the number of threads that compute "
                   "for a rank). Try: a number from 1 to 4096, or unset OMP_NUM_THREADS for one on "
                   "each core");
    }
  }
}

TEST(TeamPlan, GivesEachThreadACoreOfTheRank) {
  const std::vector<RankFacts> facts = bound_cluster(1, 2);
  EXPECT_EQ(team_for(facts, Cpus{4, 4}, 0).cpus, (Cpus{0, 1, 2, 3}));
  EXPECT_EQ(team_for(facts, Cpus{4, 4}, 1).cpus, (Cpus{4, 5, 6, 7}));
  EXPECT_TRUE(team_for(facts, Cpus{4, 4}, 1).awake);
}

TEST(TeamPlan, DealsOutCoresThatRanksShare) {
  std::vector<RankFacts> facts = cluster({0, 0, 0}, {.cores = 6});
  EXPECT_EQ(team_for(facts, Cpus{2, 2, 2}, 1).cpus, (Cpus{2, 3}));
  bind_to(facts[2], {0, 1}, 6);  // who may use few chooses first
  EXPECT_EQ(team_for(facts, Cpus{2, 2, 2}, 0).cpus, (Cpus{2, 3}));
  EXPECT_EQ(team_for(facts, Cpus{2, 2, 2}, 2).cpus, (Cpus{0, 1}));
}

TEST(TeamPlan, NamesTheHardwareThreadOfACoreThatTheRankMayUse) {
  std::vector<RankFacts> facts = cluster({0}, {.cores = 2});
  facts[0].cpu_of_core = {8, 9};
  EXPECT_EQ(team_for(facts, Cpus{2}, 0).cpus, (Cpus{8, 9}));
}

TEST(TeamPlan, PinsNobodyWhereThereAreCoresToSpareOrTooFew) {
  const std::vector<RankFacts> facts = cluster({0, 0});
  EXPECT_EQ(team_for(facts, Cpus{2, 2}, 0).cpus, Cpus{});
  EXPECT_TRUE(team_for(facts, Cpus{2, 2}, 0).awake);
  EXPECT_EQ(team_for(facts, Cpus{5, 4}, 0).cpus, Cpus{});
  EXPECT_FALSE(team_for(facts, Cpus{5, 4}, 0).awake);
  EXPECT_EQ(team_for(cluster({0}, {.cores = 1}), Cpus{1}, 0).cpus, Cpus{});
}

TEST(TeamPlan, LeavesTimeThatAControlGroupDoesNotGive) {
  std::vector<RankFacts> facts = cluster({0, 0});
  facts[0].cpu_quota = facts[1].cpu_quota = 5.0;
  EXPECT_EQ(threads_for(facts, 0), 2);
  facts[0].cpu_quota = 0.5;
  EXPECT_EQ(threads_for(facts, 0), 1);
  facts[0].cpu_quota = 100;
  EXPECT_EQ(threads_for(facts, 0), 4);
}

std::string finding(const Topology& topology, const std::string& id) {
  for (const Finding& found : find_problems(topology)) {
    if (found.id == id) {
      return found.text;
    }
  }
  return "";
}

TEST(ThreadFindings, ThreadsBoundToOneCore) {
  std::vector<RankFacts> facts = bound_cluster(1, 2);
  for (RankFacts& rank : facts) {
    bind_to(rank, {rank.world_rank}, 8);
    rank.omp_num_threads = 2;
  }
  EXPECT_EQ(finding(place(0, facts), "threads_share_cores"),
            "rank 0 on cn0 has 2 threads on 1 core, cpus 0 (they take turns). Try: #SBATCH "
            "--cpus-per-task=2 and export SRUN_CPUS_PER_TASK=2");
  facts[0].launch.launcher = "mpirun";
  EXPECT_NE(finding(place(0, facts), "threads_share_cores")
                .find("Try: mpirun --map-by ppr:2:node:pe=2 --bind-to core"),
            std::string::npos);
}

TEST(ThreadFindings, MoreThreadsThanCores) {
  std::vector<RankFacts> facts = cluster({0, 0});
  facts[0].omp_num_threads = 1000;
  EXPECT_NE(finding(place(0, facts), "threads_share_cores").find("Try: OMP_NUM_THREADS=7"),
            std::string::npos)
      << finding(place(0, facts), "threads_share_cores");
  facts[0].omp_num_threads = 4;
  EXPECT_EQ(finding(place(0, facts), "threads_share_cores"), "");
}

TEST(ThreadFindings, LimitsOnTimeAndLists) {
  std::vector<RankFacts> facts = cluster({0, 0});
  EXPECT_EQ(finding(place(0, facts), "cpu_quota"), "");
  facts[0].cpu_quota = facts[1].cpu_quota = 2.5;
  EXPECT_EQ(finding(place(0, facts), "cpu_quota"), "");  // one thread each
  facts[0].omp_num_threads = facts[1].omp_num_threads = 2;
  EXPECT_EQ(finding(place(0, facts), "cpu_quota"),
            "cn0 runs 4 threads of ranks, but its control group gives time for 2.5 processors (all "
            "are stopped for the rest of each period). Try: OMP_NUM_THREADS=1, or a larger limit "
            "(cpu.max, docker --cpus)");
  facts[1].omp_text = "2,4";
  EXPECT_EQ(finding(place(0, facts), "threads_list"),
            "OMP_NUM_THREADS is '2,4': the first number counts (threads of a rank start no "
            "others). Try: OMP_NUM_THREADS=2");
}

class CpuQuota : public ::testing::Test {
 protected:
  CpuQuota() { std::filesystem::remove_all(folder_); }
  ~CpuQuota() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  double quota() const { return cpu_quota(folder_ / "self", folder_ / "groups"); }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("sherd_cpu_quota_" + std::to_string(getpid()));
};

TEST_F(CpuQuota, IsTheLeastOfTheGroupsAbove) {
  write("self", "0::/slice/job/step\n");
  EXPECT_EQ(quota(), 0);
  write("groups/slice/job/step/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 0);
  write("groups/slice/job/cpu.max", "250000 100000\n");
  write("groups/slice/cpu.max", "800000 100000\n");
  EXPECT_EQ(quota(), 2.5);
}

TEST_F(CpuQuota, OfAContainerIsAtTheTop) {
  write("self", "0::/../elsewhere\n");
  write("groups/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota(), 0.5);
}

TEST_F(CpuQuota, OfVersion1) {
  write("self", "12:memory:/job\n4:cpu,cpuacct:/job\n");
  write("groups/cpu,cpuacct/job/cpu.cfs_quota_us", "300000\n");
  write("groups/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 3);
  write("groups/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(quota(), 0);
}

}  // namespace
}  // namespace sherd::runtime
