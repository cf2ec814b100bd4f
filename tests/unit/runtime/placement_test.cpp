#include "sherd/runtime/placement.hpp"

#include <gtest/gtest.h>

#include "unit/runtime/synthetic_cluster.hpp"

namespace sherd::runtime {
namespace {

using testing::bind_to;
using testing::bound_cluster;
using testing::cluster;
using testing::range;

TEST(Placement, EightGpusOnFourNodesGoToTheirRanks) {
  const Topology topology = place(13, bound_cluster(4, 8, {.cores = 64, .gpus = 8}));
  EXPECT_EQ(topology.size, 32);
  EXPECT_EQ(topology.nodes, 4);
  EXPECT_EQ(topology.rank, 13);
  EXPECT_EQ(topology.node, 1);
  EXPECT_EQ(topology.local_rank, 5);
  EXPECT_EQ(topology.host, "cn1");
  EXPECT_FALSE(topology.reordered());
  for (int rank = 0; rank < 32; ++rank) {
    EXPECT_EQ(topology.gpu_of_rank[static_cast<std::size_t>(rank)], rank % 8);
    EXPECT_EQ(topology.threads_of_rank[static_cast<std::size_t>(rank)], 8);
  }
  EXPECT_EQ(topology.machines.size(), 4U);
  EXPECT_EQ(topology.machines[3].gpus.front().uuid, "GPU-3-0");
}

TEST(Placement, RanksDealtOutInTurnAreNumberedNodeByNode) {
  std::vector<RankFacts> facts = cluster({0, 1, 2, 0, 1, 2});
  facts[4].cpus = "mark";
  const Topology topology = place(4, std::move(facts));
  EXPECT_TRUE(topology.reordered());
  EXPECT_EQ(topology.world_rank_of_rank, (std::vector<int>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(topology.node_of_rank, (std::vector<int>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(topology.local_of_rank, (std::vector<int>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(topology.rank, 3);
  EXPECT_EQ(topology.node, 1);
  EXPECT_EQ(topology.local_rank, 1);
  EXPECT_EQ(topology.ranks[3].cpus, "mark");
  EXPECT_EQ(topology.machines[2].cores, 8);
}

TEST(Placement, UnequalNodesKeepTheirRanks) {
  const Topology topology = place(4, cluster({0, 1, 1, 0, 1}));
  EXPECT_EQ(topology.ranks_per_node, (std::vector<int>{2, 3}));
  EXPECT_EQ(topology.rank, 4);
  EXPECT_EQ(ranks_of_node(topology, 1).size(), 3U);
  EXPECT_EQ(ranks_of_node(topology, 1).front().world_rank, 1);
}

TEST(Gpus, ARankThatSeesOneTakesIt) {
  std::vector<RankFacts> facts = cluster({0, 0, 0}, {.cores = 8, .gpus = 3});
  for (RankFacts& rank : facts) {
    rank.visible_gpus = {rank.visible_gpus[static_cast<std::size_t>(rank.world_rank)]};
  }
  EXPECT_EQ(choose_gpus(facts), (std::vector<int>{0, 0, 0}));
}

TEST(Gpus, ThoseOnTheRanksNumaNodeFirst) {
  std::vector<RankFacts> facts = bound_cluster(1, 4, {.cores = 8, .gpus = 4});
  std::swap(facts[0], facts[3]);  // bound to the last cores
  EXPECT_EQ(choose_gpus(facts), (std::vector<int>{2, 0, 3, 1}));
  // Three ranks on the second NUMA node: one of them must take a device of the first.
  bind_to(facts[1], {7}, 8);
  EXPECT_EQ(choose_gpus(facts), (std::vector<int>{2, 3, 1, 0}));
}

TEST(Gpus, OneThatMayRunAnywhereLeavesNearOnesToTheOthers) {
  std::vector<RankFacts> facts = bound_cluster(1, 2, {.cores = 8, .gpus = 2});
  bind_to(facts[0], range(0, 8), 8);
  bind_to(facts[1], {0}, 8);
  EXPECT_EQ(choose_gpus(facts), (std::vector<int>{1, 0}));
}

TEST(Gpus, TooFewAreCountedRound) {
  EXPECT_EQ(choose_gpus(cluster({0, 0, 0, 0}, {.cores = 8, .gpus = 2})),
            (std::vector<int>{0, 1, 0, 1}));
  EXPECT_EQ(choose_gpus(cluster({0, 0})), (std::vector<int>{-1, -1}));
}

TEST(Gpus, RanksThatSeeDifferentOnesCountInTheirOwn) {
  std::vector<RankFacts> facts = cluster({0, 0}, {.cores = 8, .gpus = 4});
  facts[0].visible_gpus.resize(2);
  facts[1].visible_gpus.erase(facts[1].visible_gpus.begin(), facts[1].visible_gpus.begin() + 2);
  EXPECT_EQ(choose_gpus(facts), (std::vector<int>{0, 1}));
}

int threads(const std::vector<RankFacts>& facts, std::size_t local) {
  return threads_for(facts, local);
}

TEST(Threads, AreTheCoresOfTheRank) {
  EXPECT_EQ(threads(cluster({0}), 0), 8);
  EXPECT_EQ(threads(bound_cluster(1, 2), 1), 4);
}

TEST(Threads, ShareWhatSeveralMayUse) {
  EXPECT_EQ(threads(cluster({0, 0}, {.cores = 2}), 0), 1);
  EXPECT_EQ(threads(cluster({0, 0, 0}, {.cores = 9}), 2), 3);
  EXPECT_EQ(threads(cluster({0, 0, 0}), 2), 2);
  std::vector<RankFacts> facts = cluster({0, 0});
  bind_to(facts[0], {0, 1, 2}, 8);
  bind_to(facts[1], {2, 3}, 8);
  EXPECT_EQ(threads(facts, 0), 2);  // and half of the third
  EXPECT_EQ(threads(facts, 1), 1);
}

TEST(Threads, AreOneAtLeast) {
  std::vector<RankFacts> facts = cluster({0, 0, 0}, {.cores = 2});
  EXPECT_EQ(threads(facts, 0), 1);
  facts[0].cores.clear();
  EXPECT_EQ(threads(facts, 0), 1);
}

TEST(Threads, AreWhatTheUserSays) {
  std::vector<RankFacts> facts = cluster({0, 0});
  facts[1].omp_num_threads = 7;
  EXPECT_EQ(threads(facts, 0), 4);
  EXPECT_EQ(threads(facts, 1), 7);
}

TEST(IndexList, FoldsNeighbours) {
  EXPECT_EQ(index_list({}), "");
  EXPECT_EQ(index_list({3}), "3");
  EXPECT_EQ(index_list({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

}  // namespace
}  // namespace sherd::runtime
