#include "sherd/runtime/findings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sherd/base/error.hpp"
#include "unit/runtime/synthetic_cluster.hpp"

namespace sherd::runtime {
namespace {

using ::testing::AllOf;
using testing::bind_to;
using testing::bound_cluster;
using testing::cluster;
using ::testing::HasSubstr;
using testing::range;

using Facts = std::vector<RankFacts>;

std::vector<std::string> ids(const Facts& facts) {
  std::vector<std::string> found;
  for (const Finding& finding : find_problems(place(0, facts))) {
    found.push_back(finding.id);
  }
  return found;
}

Finding only_finding(const Facts& facts) {
  const std::vector<Finding> found = find_problems(place(0, facts));
  EXPECT_EQ(found.size(), 1U) << ::testing::PrintToString(ids(facts));
  return found.empty() ? Finding{} : found.front();
}

void started_by_mpirun(Facts& facts) {
  for (RankFacts& rank : facts) {
    rank.launch = {"mpirun", "OMPI_COMM_WORLD_SIZE", static_cast<int>(facts.size())};
  }
}

void see(RankFacts& rank, std::vector<Gpu> gpus, const char* variable) {
  rank.visible_gpus = std::move(gpus);
  rank.cuda_visible_devices = variable;
}

TEST(Findings, NoneWhereAllIsWell) {
  EXPECT_TRUE(ids(bound_cluster(4, 8, {.cores = 64, .gpus = 8})).empty());
  EXPECT_TRUE(ids(cluster({0, 0, 1, 1}, {.cores = 2})).empty());  // unbound, a core for each
  EXPECT_TRUE(ids(cluster({0})).empty());
}

TEST(Findings, RanksPiledOnOneCore) {
  Facts facts = bound_cluster(2, 4, {.cores = 16});
  for (const std::size_t rank : {4U, 5U, 6U, 7U}) {
    bind_to(facts[rank], {0}, 16);
  }
  const Finding finding = only_finding(facts);
  EXPECT_EQ(finding.id, "ranks_share_cores");
  EXPECT_EQ(finding.severity, Severity::warning);
  EXPECT_THAT(finding.text, AllOf(HasSubstr("ranks 4-7 on cn1 may run on cpus 0 only"),
                                  HasSubstr("take turns on 1 core, while 16 may be used there"),
                                  HasSubstr("--cpus-per-task=4 and export SRUN_CPUS_PER_TASK=4")));
  started_by_mpirun(facts);
  EXPECT_THAT(only_finding(facts).text,
              HasSubstr("mpirun --map-by ppr:4:node:pe=4 --bind-to core"));
}

TEST(Findings, TwoRanksPiledBesideOthersThatAreNot) {
  Facts facts = bound_cluster(1, 4);
  bind_to(facts[1], facts[0].cores, 8);
  EXPECT_EQ(ids(facts), std::vector<std::string>{"idle_cores"});  // two ranks on two cores
  bind_to(facts[0], {0}, 8);
  bind_to(facts[1], {0}, 8);
  EXPECT_THAT(only_finding(facts).text, HasSubstr("ranks 0-1 on cn0 may run on cpus 0 only"));
}

TEST(Findings, ASmallSetInsideALargerOne) {
  Facts facts = cluster({0, 0, 0});
  bind_to(facts[0], {0, 1}, 8);
  bind_to(facts[1], {0}, 8);
  bind_to(facts[2], {1}, 8);
  EXPECT_THAT(only_finding(facts).text, HasSubstr("ranks 0-2 on cn0 may run on cpus 0-1 only"));
}

TEST(Findings, CoresThatNoRankMayUse) {
  Facts facts = bound_cluster(2, 2);
  bind_to(facts[2], {0}, 8);
  bind_to(facts[3], {1}, 8);
  const Finding finding = only_finding(facts);
  EXPECT_EQ(finding.id, "idle_cores");
  EXPECT_EQ(finding.severity, Severity::note);
  EXPECT_THAT(finding.text, AllOf(HasSubstr("the 2 ranks of cn1 may run on 2 of its 8 cores"),
                                  HasSubstr("--cpus-per-task=4")));
  EXPECT_TRUE(ids(bound_cluster(1, 3)).empty());  // two cores are left over, however they are bound
}

TEST(Findings, MoreRanksThanCores) {
  const Finding finding = only_finding(cluster({0, 0, 0, 1, 1, 1}, {.cores = 2}));
  EXPECT_EQ(finding.id, "more_ranks_than_cores");
  EXPECT_THAT(finding.text,
              AllOf(HasSubstr("cn0 has 3 ranks on 2 cores"), HasSubstr("1 more node like it"),
                    HasSubstr("--ntasks-per-node=2")));
}

TEST(Findings, AJobThatWasGivenTooFewCores) {
  Facts facts = cluster({0, 0, 0});
  facts[0].machine.allowed_cores = 2;
  for (RankFacts& rank : facts) {
    bind_to(rank, {0, 1}, 8);
  }
  EXPECT_THAT(only_finding(facts).text,
              AllOf(HasSubstr("3 ranks on 2 cores, all that the job was given of 8"),
                    HasSubstr("--ntasks-per-node=3 --cpus-per-task=1")));
}

TEST(Findings, NodesOfUnequalSize) {
  Facts facts = cluster({0, 0, 1});
  const Finding finding = only_finding(facts);
  EXPECT_EQ(finding.id, "uneven_nodes");
  EXPECT_EQ(finding.severity, Severity::error);
  EXPECT_THAT(finding.text,
              AllOf(HasSubstr("cn0 has 2 ranks and cn1 has 1"), HasSubstr("--ntasks-per-node=2")));
  started_by_mpirun(facts);
  EXPECT_THAT(only_finding(facts).text, HasSubstr("mpirun --map-by ppr:2:node"));
  EXPECT_THROW(refuse_errors(place(0, facts), false), ConfigError);
}

TEST(Findings, NodesOfDifferentKinds) {
  Facts facts = cluster({0, 1}, {.cores = 8, .gpus = 2});
  facts[1].machine.allowed_cores = facts[1].machine.cores = 4;
  EXPECT_EQ(only_finding(facts).id, "unlike_nodes");
  EXPECT_THAT(only_finding(facts).text,
              HasSubstr("cn0 has 8 cores and 2 GPUs, cn1 has 4 cores and 2 GPUs"));
  facts[1].machine = facts[0].machine;
  facts[1].machine.gpus.pop_back();
  EXPECT_EQ(only_finding(facts).id, "unlike_nodes");
}

TEST(Findings, RanksDealtOutInTurnAreSaidToBeRenumbered) {
  Facts facts = cluster({0, 1, 0, 1});
  const Finding finding = only_finding(facts);
  EXPECT_EQ(finding.id, "reordered");
  EXPECT_EQ(finding.severity, Severity::note);
  EXPECT_THAT(finding.text, AllOf(HasSubstr("ranks 0,2 on cn0; here they are ranks 0-1"),
                                  HasSubstr("srun --distribution=block")));
  started_by_mpirun(facts);
  EXPECT_THAT(only_finding(facts).text, HasSubstr("mpirun --map-by slot"));
}

TEST(Findings, AnotherNumberOfTasksThanRanks) {
  Facts facts = cluster({0, 0});
  started_by_mpirun(facts);
  facts[0].slurm.tasks = 2;
  EXPECT_TRUE(ids(facts).empty());
  facts[0].slurm.tasks = 8;
  EXPECT_EQ(only_finding(facts).id, "task_count");
  EXPECT_THAT(only_finding(facts).text, AllOf(HasSubstr("2 ranks"), HasSubstr("SLURM_NTASKS is 8"),
                                              HasSubstr("mpirun -n 8")));
}

TEST(GpuFindings, TwoRanksThatSeeTheSameSingleDevice) {
  Facts facts = cluster({0, 0, 1, 1}, {.cores = 8, .gpus = 2});
  see(facts[2], {facts[2].visible_gpus[1]}, "1");
  see(facts[3], {facts[3].visible_gpus[1]}, "0,1");
  const Finding finding = only_finding(facts);
  EXPECT_EQ(finding.id, "gpu_shared");
  EXPECT_EQ(finding.severity, Severity::error);
  EXPECT_THAT(finding.text,
              AllOf(HasSubstr("ranks 2 (CUDA_VISIBLE_DEVICES=1) and 3 (CUDA_VISIBLE_DEVICES=0,1) "
                              "on cn1 would share GPU 0000:02:00.0 GPU-1-1"),
                    HasSubstr("--gpus-per-node=2 --gpu-bind=none instead of --gpus-per-task")));
  EXPECT_THROW(refuse_errors(place(0, facts), true), ConfigError);
  EXPECT_THROW(refuse_shared_gpus(place(0, facts)), ConfigError);
  refuse_errors(place(0, facts), false);
}

TEST(GpuFindings, FewerDevicesThanRanks) {
  const Facts facts = cluster({0, 0, 0}, {.cores = 8, .gpus = 2});
  EXPECT_THAT(
      only_finding(facts).text,
      AllOf(HasSubstr("ranks 0 (CUDA_VISIBLE_DEVICES not set) and 2"),
            HasSubstr("the 3 ranks there see 2 and 2 devices"), HasSubstr("--ntasks-per-node=2")));
}

TEST(GpuFindings, OneDeviceEachUnderTheSameIndexIsRight) {
  Facts facts = cluster({0, 0}, {.cores = 8, .gpus = 2});
  see(facts[0], {facts[0].visible_gpus[0]}, "0");
  see(facts[1], {facts[1].visible_gpus[1]}, "1");
  EXPECT_TRUE(ids(facts).empty());
  refuse_errors(place(0, facts), true);
  refuse_shared_gpus(place(0, facts));
}

TEST(GpuFindings, PartsOfADividedDeviceAreDevices) {
  Facts facts = cluster({0, 0}, {.cores = 8, .gpus = 1});
  facts[1].visible_gpus[0].uuid = "MIG-2";
  EXPECT_TRUE(ids(facts).empty());
  facts[0].visible_gpus[0].uuid = facts[1].visible_gpus[0].uuid = "";
  EXPECT_EQ(only_finding(facts).id, "gpu_shared");
}

TEST(GpuFindings, ARankWithoutADevice) {
  Facts facts = cluster({0, 0}, {.cores = 8, .gpus = 2});
  see(facts[1], {}, "7");
  EXPECT_EQ(only_finding(facts).id, "gpu_missing");
  EXPECT_THAT(only_finding(facts).text,
              HasSubstr("rank 1 on cn0 has no GPU (CUDA_VISIBLE_DEVICES=7)"));
  EXPECT_THROW(refuse_errors(place(0, facts), true), ConfigError);
}

TEST(Findings, TheWorstComeFirst) {
  Facts facts = cluster({0, 1, 0}, {.cores = 1});
  EXPECT_EQ(ids(facts),
            (std::vector<std::string>{"uneven_nodes", "more_ranks_than_cores", "reordered"}));
}

}  // namespace
}  // namespace sherd::runtime
