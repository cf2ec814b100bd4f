#pragma once

#include <string>
#include <vector>

#include "sherd/runtime/topology.hpp"

namespace sherd::runtime {

/// Finds where the launch's ranks are. Collective over MPI_COMM_WORLD. For tests,
/// SHERD_TEST_NODES=k cuts the launch into k "nodes" of contiguous ranks, whatever the machines
/// are.
[[nodiscard]] Topology discover_topology();

/// How many nodes SHERD_TEST_NODES makes of `size` ranks; 0 when it is not set. Throws ConfigError.
[[nodiscard]] int nodes_for_tests(int size);

/// The lowest rank on the node of every rank, when `size` ranks are cut into `nodes` contiguous
/// runs, as even as can be.
[[nodiscard]] std::vector<int> contiguous_nodes(int size, int nodes);

/// Numbers nodes by their lowest rank and ranks inside each; fills everything that follows from it.
[[nodiscard]] Topology topology_from(int rank, const std::vector<int>& lowest_rank_on_node);

}  // namespace sherd::runtime
