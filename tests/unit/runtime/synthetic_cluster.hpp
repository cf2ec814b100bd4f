#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sherd/runtime/placement.hpp"

namespace sherd::runtime::testing {

inline std::vector<int> range(int first, int count) {
  std::vector<int> numbers;
  for (int at = 0; at < count; ++at) {
    numbers.push_back(first + at);
  }
  return numbers;
}

/// A node of two NUMA nodes, each with half the cores and half the GPUs.
struct NodeKind {
  int cores = 8;
  int gpus = 0;
};

inline std::vector<Gpu> gpus_of(int node, const NodeKind& kind) {
  std::vector<Gpu> gpus;
  for (int gpu = 0; gpu < kind.gpus; ++gpu) {
    gpus.push_back({"H200", fmt::format("0000:{:02x}:00.0", gpu + 1),
                    fmt::format("GPU-{}-{}", node, gpu), gpu * 2 / kind.gpus});
  }
  return gpus;
}

inline void bind_to(RankFacts& rank, const std::vector<int>& cores, int cores_of_node) {
  rank.cores = cores;
  rank.cpus = index_list(cores);
  rank.numa_nodes.clear();
  for (const int numa : {0, 1}) {
    const bool is_here = std::any_of(cores.begin(), cores.end(),
                                     [&](int core) { return core * 2 / cores_of_node == numa; });
    if (is_here) {
      rank.numa_nodes.push_back(numa);
    }
  }
}

/// Ranks dealt out to nodes: `node_of_rank[world rank]`; unbound; all see all GPUs of their node.
inline std::vector<RankFacts> cluster(const std::vector<int>& node_of_rank, NodeKind kind = {}) {
  std::vector<RankFacts> facts(node_of_rank.size());
  for (std::size_t rank = 0; rank < facts.size(); ++rank) {
    const int node = node_of_rank[rank];
    const auto leader = std::find(node_of_rank.begin(), node_of_rank.end(), node);
    facts[rank].world_rank = static_cast<int>(rank);
    facts[rank].node_leader = static_cast<int>(leader - node_of_rank.begin());
    facts[rank].host = fmt::format("cn{}", node);
    facts[rank].launch = {"srun (PMIx)", "PMIX_RANK", static_cast<int>(facts.size())};
    bind_to(facts[rank], range(0, kind.cores), kind.cores);
    facts[rank].visible_gpus = gpus_of(node, kind);
    if (facts[rank].node_leader == facts[rank].world_rank) {
      facts[rank].machine = {
          2, 2, kind.cores, kind.cores, facts[rank].visible_gpus, {{"eth0", "network", -1}}};
    }
  }
  return facts;
}

/// `nodes` x `each` ranks, neighbours on one node, every one bound to its own share of the cores.
inline std::vector<RankFacts> bound_cluster(int nodes, int each, NodeKind kind = {}) {
  std::vector<int> node_of_rank;
  for (int rank = 0; rank < nodes * each; ++rank) {
    node_of_rank.push_back(rank / each);
  }
  std::vector<RankFacts> facts = cluster(node_of_rank, kind);
  const int share = kind.cores / each;
  for (RankFacts& rank : facts) {
    bind_to(rank, range(rank.world_rank % each * share, share), kind.cores);
  }
  return facts;
}

}  // namespace sherd::runtime::testing
