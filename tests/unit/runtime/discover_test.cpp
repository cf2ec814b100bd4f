#include "sherd/runtime/discover.hpp"

#include <gtest/gtest.h>

#include "runtime/machine.hpp"

namespace sherd {
namespace {

using runtime::contiguous_nodes;
using runtime::Topology;
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
}

TEST(Topology, OneRankIsOneNode) {
  const Topology topology = topology_from(0, {0});
  EXPECT_EQ(topology.nodes, 1);
  EXPECT_EQ(topology.ranks_per_node, std::vector<int>{1});
}

TEST(Topology, RanksAreCutIntoContiguousNodes) {
  EXPECT_EQ(contiguous_nodes(4, 2), (std::vector<int>{0, 0, 2, 2}));
  EXPECT_EQ(contiguous_nodes(5, 2), (std::vector<int>{0, 0, 0, 3, 3}));
  EXPECT_EQ(contiguous_nodes(3, 3), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(contiguous_nodes(3, 1), (std::vector<int>{0, 0, 0}));
}

TEST(Machine, HasAtLeastOneCore) {
  const runtime::Machine machine = runtime::discover_machine();
  EXPECT_GE(machine.cores, 1);
  EXPECT_GE(machine.numa_nodes, 1);
  EXPECT_GE(machine.gpus, 0);
}

}  // namespace
}  // namespace sherd
