#pragma once

#include <vector>

#include "sherd/runtime/topology.hpp"

namespace sherd::runtime {

/// Finds where the launch's ranks are and what is there. Collective over MPI_COMM_WORLD. For tests,
/// SHERD_TEST_NODES=k cuts the launch into k "nodes" of neighbouring ranks, whatever the machines
/// are; SHERD_TEST_NODES=k:cyclic deals the ranks out to them in turn.
/// `launch` is what the environment said before MPI was started.
[[nodiscard]] Topology discover_topology(const Launch& launch = {});

/// Only how the ranks are numbered and which node each is on. Collective over MPI_COMM_WORLD.
[[nodiscard]] Topology discover_ranks();

/// The lowest rank on the node of every rank, as SHERD_TEST_NODES cuts `size` ranks into nodes;
/// empty when it is not set. Throws ConfigError.
[[nodiscard]] std::vector<int> nodes_for_tests(int size);

/// Numbers nodes by their lowest rank and ranks inside each; fills everything that follows from it.
/// The ranks keep their numbers.
[[nodiscard]] Topology topology_from(int rank, const std::vector<int>& lowest_rank_on_node);

/// The same with the ranks renumbered node by node, and in their old order inside each.
[[nodiscard]] Topology topology_by_node(int world_rank,
                                        const std::vector<int>& lowest_rank_on_node);

}  // namespace sherd::runtime
