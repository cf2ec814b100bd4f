#include "sherd/runtime/discover.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <map>

#include "runtime/machine.hpp"
#include "runtime/mpi_env.hpp"
#include "sherd/base/check.hpp"

namespace sherd::runtime {

int nodes_for_tests(int size) {
  const char* text = std::getenv("SHERD_TEST_NODES");
  if (text == nullptr) {
    return 0;
  }
  char* end = nullptr;
  const long nodes = std::strtol(text, &end, 10);
  validate(
      *end == '\0' && nodes >= 1 && nodes <= size,
      fmt::format("SHERD_TEST_NODES is '{}' (it cuts {} ranks into that many nodes, for tests). "
                  "Try: a number from 1 to {}",
                  text, size, size));
  return static_cast<int>(nodes);
}

std::vector<int> contiguous_nodes(int size, int nodes) {
  std::vector<int> lowest;
  for (int node = 0; node < nodes; ++node) {
    const int begin = (node * size + nodes - 1) / nodes;
    const int end = ((node + 1) * size + nodes - 1) / nodes;
    lowest.insert(lowest.end(), static_cast<std::size_t>(end - begin), begin);
  }
  return lowest;
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
  topology.nodes = static_cast<int>(topology.ranks_per_node.size());
  topology.node = topology.node_of_rank.at(static_cast<std::size_t>(rank));
  topology.local_rank = topology.local_of_rank.at(static_cast<std::size_t>(rank));
  return topology;
}

Topology discover_topology() {
  const int forced = nodes_for_tests(world_size());
  Topology topology =
      topology_from(world_rank(), forced > 0 ? contiguous_nodes(world_size(), forced)
                                             : gather_ints(lowest_rank_on_node()));
  topology.host = processor_name();
  const Machine machine = discover_machine();
  topology.cores = machine.cores;
  topology.numa_nodes = machine.numa_nodes;
  topology.gpus = machine.gpus;
  return topology;
}

}  // namespace sherd::runtime
