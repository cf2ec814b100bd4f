#include "sherd/runtime/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sherd/runtime/discover.hpp"

namespace sherd::runtime {
namespace {

bool same_devices(const RankFacts& a, const RankFacts& b) {
  return std::equal(a.visible_gpus.begin(), a.visible_gpus.end(), b.visible_gpus.begin(),
                    b.visible_gpus.end(),
                    [](const Gpu& x, const Gpu& y) { return x.pci == y.pci && x.uuid == y.uuid; });
}

/// Whether every rank can have a device to itself out of the ones all of them see.
bool may_choose(std::span<const RankFacts> node) {
  const std::size_t devices = node.front().visible_gpus.size();
  return devices > 1 && devices >= node.size() &&
         std::all_of(node.begin(), node.end(),
                     [&](const RankFacts& rank) { return same_devices(rank, node.front()); });
}

bool is_near(const RankFacts& rank, const Gpu& gpu) {
  return std::find(rank.numa_nodes.begin(), rank.numa_nodes.end(), gpu.numa) !=
         rank.numa_nodes.end();
}

/// Near devices first; those who may run on few NUMA nodes choose before those who may run on many.
std::vector<int> choose_by_closeness(std::span<const RankFacts> node) {
  const std::vector<Gpu>& gpus = node.front().visible_gpus;
  std::vector<std::size_t> order(node.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return node[a].numa_nodes.size() < node[b].numa_nodes.size();
  });
  std::vector<int> chosen(node.size(), -1);
  std::vector<bool> taken(gpus.size(), false);
  for (const bool near_only : {true, false}) {
    for (const std::size_t local : order) {
      for (std::size_t gpu = 0; gpu < gpus.size() && chosen[local] < 0; ++gpu) {
        if (!taken[gpu] && (!near_only || is_near(node[local], gpus[gpu]))) {
          taken[gpu] = true;
          chosen[local] = static_cast<int>(gpu);
        }
      }
    }
  }
  return chosen;
}

std::vector<int> leaders(const std::vector<RankFacts>& facts) {
  std::vector<int> lowest;
  lowest.reserve(facts.size());
  for (const RankFacts& rank : facts) {
    lowest.push_back(rank.node_leader);
  }
  return lowest;
}

}  // namespace

std::vector<int> choose_gpus(std::span<const RankFacts> node) {
  if (!node.empty() && may_choose(node)) {
    return choose_by_closeness(node);
  }
  std::vector<int> chosen;
  for (std::size_t local = 0; local < node.size(); ++local) {
    const std::size_t devices = node[local].visible_gpus.size();
    chosen.push_back(devices == 0 ? -1 : static_cast<int>(local % devices));
  }
  return chosen;
}

std::span<const RankFacts> ranks_of_node(const Topology& topology, int node) {
  const auto first = std::accumulate(topology.ranks_per_node.begin(),
                                     topology.ranks_per_node.begin() + node, std::size_t{0});
  return std::span(topology.ranks)
      .subspan(first,
               static_cast<std::size_t>(topology.ranks_per_node[static_cast<std::size_t>(node)]));
}

Topology place(int world_rank, std::vector<RankFacts> facts) {
  Topology topology = topology_by_node(world_rank, leaders(facts));
  for (const int at : topology.world_rank_of_rank) {
    topology.ranks.push_back(std::move(facts[static_cast<std::size_t>(at)]));
  }
  topology.host = topology.ranks[static_cast<std::size_t>(topology.rank)].host;
  for (int node = 0; node < topology.nodes; ++node) {
    const std::span<const RankFacts> ranks = ranks_of_node(topology, node);
    topology.machines.push_back(ranks.front().machine);
    const std::vector<int> gpus = choose_gpus(ranks);
    topology.gpu_of_rank.insert(topology.gpu_of_rank.end(), gpus.begin(), gpus.end());
    for (std::size_t local = 0; local < ranks.size(); ++local) {
      topology.threads_of_rank.push_back(threads_for(ranks, local));
    }
  }
  return topology;
}

std::string index_list(const std::vector<int>& sorted) {
  std::string text;
  for (std::size_t at = 0; at < sorted.size();) {
    std::size_t last = at;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) {
      ++last;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ",", sorted[at]);
    if (last > at) {
      text += fmt::format("-{}", sorted[last]);
    }
    at = last + 1;
  }
  return text;
}

}  // namespace sherd::runtime
