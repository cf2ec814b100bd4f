#include "sherd/runtime/discover.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>

#include "runtime/facts.hpp"
#include "runtime/mpi_env.hpp"
#include "sherd/base/check.hpp"
#include "sherd/runtime/placement.hpp"

namespace sherd::runtime {
namespace {

/// Neighbouring ranks, as even as can be.
std::vector<int> contiguous_nodes(int size, int nodes) {
  std::vector<int> lowest;
  for (int node = 0; node < nodes; ++node) {
    const int begin = (node * size + nodes - 1) / nodes;
    const int end = ((node + 1) * size + nodes - 1) / nodes;
    lowest.insert(lowest.end(), static_cast<std::size_t>(end - begin), begin);
  }
  return lowest;
}

std::vector<int> cyclic_nodes(int size, int nodes) {
  std::vector<int> lowest;
  for (int rank = 0; rank < size; ++rank) {
    lowest.push_back(rank % nodes);
  }
  return lowest;
}

std::vector<int> gather_leaders() {
  std::vector<int> forced = nodes_for_tests(world_size());
  return forced.empty() ? gather_ints(lowest_rank_on_node()) : forced;
}

}  // namespace

std::vector<int> nodes_for_tests(int size) {
  const char* text = std::getenv("SHERD_TEST_NODES");
  if (text == nullptr) {
    return {};
  }
  char* end = nullptr;
  const long nodes = std::strtol(text, &end, 10);
  const bool cyclic = std::strcmp(end, ":cyclic") == 0;
  validate(
      (cyclic || *end == '\0') && nodes >= 1 && nodes <= size,
      fmt::format("SHERD_TEST_NODES is '{}' (it cuts {} ranks into that many nodes, for tests). "
                  "Try: a number from 1 to {}, with or without :cyclic",
                  text, size, size));
  const auto count = static_cast<int>(nodes);
  return cyclic ? cyclic_nodes(size, count) : contiguous_nodes(size, count);
}

Topology topology_from(int rank, const std::vector<int>& lowest_rank_on_node) {
  Topology topology;
  topology.rank = rank;
  topology.size = static_cast<int>(lowest_rank_on_node.size());
  topology.ranks_per_node.clear();
  topology.node_of_rank.clear();
  topology.local_of_rank.clear();
  std::map<int, int> node_by_lowest;
  for (const int lowest : lowest_rank_on_node) {
    const auto next = static_cast<int>(topology.ranks_per_node.size());
    const auto [at, is_new] = node_by_lowest.try_emplace(lowest, next);
    if (is_new) {
      topology.ranks_per_node.push_back(0);
    }
    topology.node_of_rank.push_back(at->second);
    topology.local_of_rank.push_back(
        topology.ranks_per_node[static_cast<std::size_t>(at->second)]++);
  }
  topology.world_rank_of_rank.resize(lowest_rank_on_node.size());
  std::iota(topology.world_rank_of_rank.begin(), topology.world_rank_of_rank.end(), 0);
  topology.nodes = static_cast<int>(topology.ranks_per_node.size());
  topology.node = topology.node_of_rank.at(static_cast<std::size_t>(rank));
  topology.local_rank = topology.local_of_rank.at(static_cast<std::size_t>(rank));
  return topology;
}

Topology topology_by_node(int world_rank, const std::vector<int>& lowest_rank_on_node) {
  const std::vector<int> node = topology_from(world_rank, lowest_rank_on_node).node_of_rank;
  std::vector<int> order(node.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return node[static_cast<std::size_t>(a)] < node[static_cast<std::size_t>(b)];
  });
  std::vector<int> sorted = node;
  std::sort(sorted.begin(), sorted.end());
  const auto rank = std::find(order.begin(), order.end(), world_rank) - order.begin();
  Topology topology = topology_from(static_cast<int>(rank), sorted);
  topology.world_rank_of_rank = std::move(order);
  return topology;
}

bool Topology::reordered() const {
  return !std::is_sorted(world_rank_of_rank.begin(), world_rank_of_rank.end());
}

Topology discover_ranks() { return topology_by_node(world_rank(), gather_leaders()); }

Topology discover_topology(const Launch& launch) {
  const std::vector<int> leaders = gather_leaders();
  const int leader = leaders[static_cast<std::size_t>(world_rank())];
  Topology topology = place(world_rank(), gather_facts(facts_of_this_rank(leader, launch)));
  topology.mpi_library = mpi_library();
  topology.mpi_thread_level = mpi_thread_level();
  return topology;
}

}  // namespace sherd::runtime
