#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/system_info.hpp"
#include "unit/runtime/synthetic_cluster.hpp"

namespace sherd::cli {
namespace {

using runtime::place;
using runtime::testing::bind_to;
using runtime::testing::bound_cluster;
using runtime::testing::cluster;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<runtime::RankFacts> large() { return bound_cluster(128, 8, {.cores = 64, .gpus = 8}); }

TEST(LaunchInfo, StaysReadableOnManyNodes) {
  const std::string text = launch_info(place(0, large()));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 20);
  EXPECT_THAT(text,
              AllOf(HasSubstr("nodes x local ranks = 128 x 8, 1024 ranks in all"),
                    HasSubstr("cn0 and 127 like it: 2 sockets, 2 NUMA nodes, 64 cores, 8 GPUs "
                              "(H200), network eth0"),
                    HasSubstr("8 to 1023: nodes 1 to 127 (cn1 to cn127), 8 ranks on each"),
                    HasSubstr("findings\n  none")));
}

TEST(LaunchInfo, ShowsTheNodeThatIsUnlikeTheOthers) {
  std::vector<runtime::RankFacts> facts = large();
  bind_to(facts[803], {5}, 64);
  const std::string text = launch_info(place(0, facts));
  EXPECT_THAT(text, AllOf(HasSubstr("8 to 799: nodes 1 to 99"), HasSubstr("803 cn100"),
                          HasSubstr("816 to 1023: nodes 102 to 127")));
}

TEST(LaunchInfo, ShowsFewNodesInFull) {
  const std::string text = launch_info(place(0, bound_cluster(2, 2, {.cores = 8, .gpus = 2})));
  EXPECT_THAT(text,
              AllOf(HasSubstr("    3 cn1                 1     1  4-7          1            4  "
                              "1: 0000:02:00.0 GPU-1-1\n"),
                    Not(HasSubstr("like it"))));
}

TEST(LaunchInfo, StartsARunWithOneLine) {
  std::vector<runtime::RankFacts> facts = bound_cluster(2, 2);
  EXPECT_THAT(start_line(place(0, facts)),
              HasSubstr("4 ranks on 2 nodes (2 on each), 4 threads per rank, launcher srun (PMIx) "
                        "(says PMIX_RANK)"));
  facts[0].slurm = {"17", "train", "cn[0-1]", 2, 4};
  bind_to(facts[1], {0}, 8);
  EXPECT_THAT(start_line(place(0, facts)),
              AllOf(HasSubstr("1 to 4 threads per rank"),
                    HasSubstr("Slurm job 17 train, restart 2, nodes cn[0-1]")));
  EXPECT_THAT(start_line(place(0, cluster({0, 1, 1}, {.cores = 1}))),
              AllOf(HasSubstr("(1 to 2 on each)"), HasSubstr("1 thread per rank")));
}

TEST(SystemInfoJson, HasEveryRankAndFinding) {
  const auto facts = cluster({0, 1, 0, 1}, {.cores = 8, .gpus = 1});
  const auto json = nlohmann::json::parse(system_info_json(place(0, facts)));
  EXPECT_EQ(json["launch"]["reordered"], true);
  ASSERT_EQ(json["ranks"].size(), 4U);
  EXPECT_EQ(json["ranks"][1]["world_rank"], 2);
  EXPECT_EQ(json["ranks"][1]["gpu"]["uuid"], "GPU-0-0");
  EXPECT_EQ(json["nodes"][1]["host"], "cn1");
  EXPECT_EQ(json["nodes"][1]["nics"][0]["name"], "eth0");
  ASSERT_EQ(json["findings"].size(), 2U);
  EXPECT_EQ(json["findings"][0]["id"], "gpu_shared");
  EXPECT_EQ(json["findings"][1]["severity"], "note");
}

}  // namespace
}  // namespace sherd::cli
