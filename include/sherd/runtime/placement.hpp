#pragma once

#include <span>
#include <string>
#include <vector>

#include "sherd/runtime/team.hpp"
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

/// More threads than a rank can have.
inline constexpr int kMostThreads = 4096;

/// What a value of OMP_NUM_THREADS says: the first number of a list; 0 for an empty text, -1 for
/// what is no number of threads.
[[nodiscard]] int threads_said(const std::string& text);

/// Threads for a rank of a node: OMP_NUM_THREADS if it says a number, else its cores, of which one
/// that several ranks may use counts for each of them in part, and at most the node's share of what
/// a control group leaves. At least 1.
[[nodiscard]] int threads_for(std::span<const RankFacts> node, std::size_t local_rank);

/// Where the threads of a rank run; `threads`: of each rank of the node. No core is given to two
/// threads. They are pinned where all threads together need all cores, and float over the cores of
/// their rank where there are more, or too few.
[[nodiscard]] TeamPlan team_for(std::span<const RankFacts> node, std::span<const int> threads,
                                std::size_t local_rank);
[[nodiscard]] TeamPlan team_of_rank(const Topology& topology, int rank);

/// The ranks of a node, which lie side by side.
[[nodiscard]] std::span<const RankFacts> ranks_of_node(const Topology& topology, int node);

/// {0, 1, 2, 5} as "0-2,5"; sorted and unique.
[[nodiscard]] std::string index_list(const std::vector<int>& sorted);

}  // namespace sherd::runtime
