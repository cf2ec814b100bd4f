// How many threads each rank of a node has, and on which cores.
#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <set>

#include "sherd/runtime/placement.hpp"

namespace sherd::runtime {
namespace {

double share_of_cores(std::span<const RankFacts> node, const RankFacts& mine) {
  std::map<int, int> users;
  for (const RankFacts& rank : node) {
    for (const int core : rank.cores) {
      ++users[core];
    }
  }
  double share = 0;
  for (const int core : mine.cores) {
    share += 1.0 / users[core];
  }
  return share;
}

std::set<int> cores_of(std::span<const RankFacts> node) {
  std::set<int> cores;
  for (const RankFacts& rank : node) {
    cores.insert(rank.cores.begin(), rank.cores.end());
  }
  return cores;
}

/// Cores for each rank, as many as it has threads and none twice: who may use few chooses first.
/// Empty when there are too few for one of them.
std::vector<std::vector<int>> deal_out(std::span<const RankFacts> node,
                                       std::span<const int> threads) {
  std::vector<std::size_t> order(node.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return node[a].cores.size() < node[b].cores.size();
  });
  std::set<int> taken;
  std::vector<std::vector<int>> cpus(node.size());
  for (const std::size_t rank : order) {
    const RankFacts& facts = node[rank];
    for (std::size_t at = 0;
         at < facts.cores.size() && static_cast<int>(cpus[rank].size()) < threads[rank]; ++at) {
      if (taken.insert(facts.cores[at]).second) {
        cpus[rank].push_back(at < facts.cpu_of_core.size() ? facts.cpu_of_core[at]
                                                           : facts.cores[at]);
      }
    }
    if (static_cast<int>(cpus[rank].size()) < threads[rank]) {
      return {};
    }
  }
  return cpus;
}

}  // namespace

int threads_said(const std::string& text) {
  if (text.empty()) {
    return 0;
  }
  const std::string first = text.substr(0, text.find(','));
  int threads = 0;
  const auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), threads);
  const bool is_number = error == std::errc() && end == first.data() + first.size();
  return is_number && threads >= 1 && threads <= kMostThreads ? threads : -1;
}

int threads_for(std::span<const RankFacts> node, std::size_t local_rank) {
  const RankFacts& mine = node[local_rank];
  if (mine.omp_num_threads > 0) {
    return mine.omp_num_threads;
  }
  constexpr double kRounding = 1e-6;  // thirds must add up to one
  double share = share_of_cores(node, mine);
  if (mine.cpu_quota > 0) {
    share = std::min(share, mine.cpu_quota / static_cast<double>(node.size()));
  }
  return std::clamp(static_cast<int>(share + kRounding), 1, kMostThreads);
}

TeamPlan team_for(std::span<const RankFacts> node, std::span<const int> threads,
                  std::size_t local_rank) {
  TeamPlan plan{threads[local_rank], {}, false};
  const std::vector<std::vector<int>> cpus = deal_out(node, threads);
  if (plan.threads == 1 || cpus.empty()) {
    return plan;
  }
  plan.awake = true;
  // With cores to spare the system knows better, and another program may be on those chosen here.
  if (std::accumulate(threads.begin(), threads.end(), std::size_t{0}) == cores_of(node).size()) {
    plan.cpus = cpus[local_rank];
  }
  return plan;
}

TeamPlan team_of_rank(const Topology& topology, int rank) {
  const auto at = static_cast<std::size_t>(rank);
  const std::span<const RankFacts> node = ranks_of_node(topology, topology.node_of_rank[at]);
  const auto first = static_cast<std::size_t>(node.data() - topology.ranks.data());
  return team_for(node, std::span(topology.threads_of_rank).subspan(first, node.size()),
                  at - first);
}

}  // namespace sherd::runtime
