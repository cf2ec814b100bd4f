#pragma once

#include <string>
#include <vector>

namespace sherd::runtime {

/// Where this launch's ranks are: found by MPI and hwloc, the same on every rank.
struct Topology {
  int rank = 0;
  int size = 1;
  int node = 0;        ///< index of this rank's node, in order of the lowest rank on it
  int local_rank = 0;  ///< index inside the node
  int nodes = 1;
  std::vector<int> ranks_per_node = {1};
  std::vector<int> node_of_rank = {0};
  std::vector<int> local_of_rank = {0};
  std::string host;
  std::string launcher;  ///< "mpirun", "srun (PMIx)", "none"
  int cores = 1;         ///< of this node
  int numa_nodes = 1;    ///< of this node
  int gpus = 0;          ///< of this node, as hwloc sees them
};

}  // namespace sherd::runtime
