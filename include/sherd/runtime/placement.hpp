#pragma once

#include <span>
#include <vector>

#include "sherd/runtime/topology.hpp"

/// What follows from the facts of all ranks. Pure functions: tested without MPI.
namespace sherd::runtime {

/// The whole topology from every rank's facts, in the order of MPI_COMM_WORLD.
[[nodiscard]] Topology place(int world_rank, std::vector<RankFacts> facts);

/// The device each rank of a node takes, by CUDA's index, -1 where none is visible. A rank that
/// sees one takes it. Where all see the same devices, and enough, each takes one to itself, on a
/// NUMA node it runs on if one is left there. Otherwise local rank modulo the number it sees, which
/// may give a device twice: find_problems() says so.
[[nodiscard]] std::vector<int> choose_gpus(std::span<const RankFacts> node);

/// Threads for a rank of a node: OMP_NUM_THREADS if it is set, else its cores, of which one that
/// several ranks may use counts for each of them in part. At least 1.
[[nodiscard]] int threads_for(std::span<const RankFacts> node, std::size_t local_rank);

/// The ranks of a node, which lie side by side.
[[nodiscard]] std::span<const RankFacts> ranks_of_node(const Topology& topology, int node);

/// {0, 1, 2, 5} as "0-2,5"; sorted and unique.
[[nodiscard]] std::string index_list(const std::vector<int>& sorted);

}  // namespace sherd::runtime
