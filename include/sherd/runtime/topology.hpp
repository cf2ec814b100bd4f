#pragma once

#include <string>
#include <vector>

#include "sherd/runtime/rank_facts.hpp"

namespace sherd::runtime {

/// Where this launch's ranks are: found by MPI and hwloc, the same on every rank but for the first
/// lines. Ranks are numbered node by node: where the launcher has dealt them out differently,
/// `rank` is not the rank in MPI_COMM_WORLD.
struct Topology {
  int rank = 0;
  int size = 1;
  int node = 0;        ///< index of this rank's node, in order of the lowest world rank on it
  int local_rank = 0;  ///< index inside the node
  int nodes = 1;
  std::vector<int> ranks_per_node = {1};
  std::vector<int> node_of_rank = {0};
  std::vector<int> local_of_rank = {0};
  std::vector<int> world_rank_of_rank = {0};

  // Filled by discover_topology() only.
  std::string host;                  ///< of this rank
  std::string mpi_library;           ///< "Open MPI v4.1.4"
  std::string mpi_thread_level;      ///< "MPI_THREAD_MULTIPLE"
  std::vector<RankFacts> ranks;      ///< by rank
  std::vector<Machine> machines;     ///< by node
  std::vector<int> gpu_of_rank;      ///< CUDA's index of the device a rank takes; -1: it sees none
  std::vector<int> threads_of_rank;  ///< that compute for a rank

  /// Whether ranks are numbered otherwise than in MPI_COMM_WORLD.
  [[nodiscard]] bool reordered() const;
};

}  // namespace sherd::runtime
