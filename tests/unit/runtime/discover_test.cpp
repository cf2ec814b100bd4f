#include "sherd/runtime/discover.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "sherd/base/error.hpp"

namespace sherd {
namespace {

using runtime::Topology;
using runtime::topology_by_node;
using runtime::topology_from;

TEST(Topology, NodesAreNumberedByTheirLowestRank) {
  const Topology topology = topology_from(3, {0, 1, 0, 1, 4});
  EXPECT_EQ(topology.size, 5);
  EXPECT_EQ(topology.nodes, 3);
  EXPECT_EQ(topology.node_of_rank, (std::vector<int>{0, 1, 0, 1, 2}));
  EXPECT_EQ(topology.local_of_rank, (std::vector<int>{0, 0, 1, 1, 0}));
  EXPECT_EQ(topology.ranks_per_node, (std::vector<int>{2, 2, 1}));
  EXPECT_EQ(topology.node, 1);
  EXPECT_EQ(topology.local_rank, 1);
  EXPECT_FALSE(topology.reordered());
}

TEST(Topology, OneRankIsOneNode) {
  const Topology topology = topology_from(0, {0});
  EXPECT_EQ(topology.nodes, 1);
  EXPECT_EQ(topology.ranks_per_node, std::vector<int>{1});
}

TEST(Topology, RanksAreRenumberedNodeByNode) {
  const Topology topology = topology_by_node(2, {0, 1, 0, 1, 4});
  EXPECT_EQ(topology.rank, 1);
  EXPECT_EQ(topology.node, 0);
  EXPECT_EQ(topology.local_rank, 1);
  EXPECT_EQ(topology.node_of_rank, (std::vector<int>{0, 0, 1, 1, 2}));
  EXPECT_EQ(topology.world_rank_of_rank, (std::vector<int>{0, 2, 1, 3, 4}));
  EXPECT_TRUE(topology.reordered());
}

TEST(Topology, RanksThatLieSideBySideKeepTheirNumbers) {
  const Topology topology = topology_by_node(3, {0, 0, 2, 2, 2});
  EXPECT_EQ(topology.rank, 3);
  EXPECT_EQ(topology.world_rank_of_rank, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_FALSE(topology.reordered());
}

std::vector<int> cut(const char* text, int size) {
  setenv("SHERD_TEST_NODES", text, 1);
  std::vector<int> lowest;
  try {
    lowest = runtime::nodes_for_tests(size);
  } catch (const ConfigError&) {
    lowest = {-1};
  }
  unsetenv("SHERD_TEST_NODES");
  return lowest;
}

TEST(Topology, TestsCutRanksIntoNodes) {
  EXPECT_TRUE(runtime::nodes_for_tests(4).empty());
  EXPECT_EQ(cut("2", 4), (std::vector<int>{0, 0, 2, 2}));
  EXPECT_EQ(cut("2", 5), (std::vector<int>{0, 0, 0, 3, 3}));
  EXPECT_EQ(cut("3", 3), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(cut("1", 3), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(cut("2:cyclic", 5), (std::vector<int>{0, 1, 0, 1, 0}));
  for (const char* wrong : {"0", "4", "2:", "2:block", "two", ""}) {
    EXPECT_EQ(cut(wrong, 3), std::vector<int>{-1}) << wrong;
  }
}

}  // namespace
}  // namespace sherd
