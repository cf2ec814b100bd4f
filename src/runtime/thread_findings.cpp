#include "runtime/thread_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "sherd/runtime/placement.hpp"

namespace sherd::runtime {
namespace {

using Found = std::optional<Finding>;

int threads_of(const Topology& topology, std::size_t rank) {
  return topology.threads_of_rank[rank];
}

/// Threads of all ranks that may run on `mask` and nowhere else.
int threads_confined_to(const Topology& topology, std::span<const RankFacts> node,
                        const std::vector<int>& mask) {
  const auto first = static_cast<std::size_t>(node.data() - topology.ranks.data());
  int threads = 0;
  for (std::size_t local = 0; local < node.size(); ++local) {
    const std::vector<int>& cores = node[local].cores;
    if (std::includes(mask.begin(), mask.end(), cores.begin(), cores.end())) {
      threads += threads_of(topology, first + local);
    }
  }
  return threads;
}

/// What gives each rank of the node its cores, or fewer threads where there are not enough.
std::string cores_line(const Topology& topology, int node, int threads, int fitting) {
  const auto at = static_cast<std::size_t>(node);
  const int ranks = topology.ranks_per_node[at];
  if (threads * ranks > topology.machines[at].allowed_cores) {
    return fmt::format("OMP_NUM_THREADS={}", std::max(1, fitting));
  }
  return topology.ranks.front().launch.launcher.rfind("srun", 0) == 0
             ? fmt::format("#SBATCH --cpus-per-task={0} and export SRUN_CPUS_PER_TASK={0}", threads)
             : fmt::format("mpirun --map-by ppr:{}:node:pe={} --bind-to core", ranks, threads);
}

/// More ranks than cores is another finding: here a rank has several threads.
Found threads_share_cores(const Topology& topology) {
  for (int node = 0; node < topology.nodes; ++node) {
    const std::span<const RankFacts> ranks = ranks_of_node(topology, node);
    const auto first = static_cast<std::size_t>(ranks.data() - topology.ranks.data());
    for (std::size_t local = 0; local < ranks.size(); ++local) {
      const auto cores = static_cast<int>(ranks[local].cores.size());
      const int mine = threads_of(topology, first + local);
      if (cores == 0 || mine < 2) {
        continue;
      }
      const int all = threads_confined_to(topology, ranks, ranks[local].cores);
      if (all <= cores) {
        continue;
      }
      return Finding{
          "threads_share_cores", Severity::warning,
          fmt::format(
              "rank {} on {} has {} threads{} on {} core{}, cpus {} (they take turns). Try: {}",
              first + local, ranks[local].host, mine,
              all == mine ? "" : fmt::format(", of {}", all), cores, cores == 1 ? "" : "s",
              ranks[local].cpus, cores_line(topology, node, mine, mine * cores / all))};
    }
  }
  return std::nullopt;
}

/// A limit on time is no limit on cores: threads run at once, and are stopped for the rest of each
/// period.
Found beyond_quota(const Topology& topology) {
  for (int node = 0; node < topology.nodes; ++node) {
    const std::span<const RankFacts> ranks = ranks_of_node(topology, node);
    const auto first = ranks.data() - topology.ranks.data();
    const auto begin = topology.threads_of_rank.begin() + first;
    const int threads =
        std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(ranks.size()), 0);
    const double quota = ranks.front().cpu_quota;
    if (quota > 0 && threads > quota) {
      return Finding{
          "cpu_quota", Severity::warning,
          fmt::format("{} runs {} threads of ranks, but its control group gives time for {:.2g} "
                      "processors (all are stopped for the rest of each period). Try: "
                      "OMP_NUM_THREADS={}, or a larger limit (cpu.max, docker --cpus)",
                      ranks.front().host, threads, quota,
                      std::max(1, static_cast<int>(quota / static_cast<double>(ranks.size()))))};
    }
  }
  return std::nullopt;
}

Found threads_unclear(const Topology& topology) {
  for (std::size_t rank = 0; rank < topology.ranks.size(); ++rank) {
    const RankFacts& facts = topology.ranks[rank];
    if (facts.omp_num_threads < 0) {
      return Finding{"threads_unclear", Severity::error,
                     fmt::format("OMP_NUM_THREADS is '{}' on rank {} (it is the number of threads "
                                 "that compute for a rank). Try: a number from 1 to {}, or unset "
                                 "OMP_NUM_THREADS for one on each core",
                                 facts.omp_text, rank, kMostThreads)};
    }
  }
  return std::nullopt;
}

Found threads_list(const Topology& topology) {
  for (const RankFacts& rank : topology.ranks) {
    if (rank.omp_num_threads > 0 && rank.omp_text.find(',') != std::string::npos) {
      return Finding{"threads_list", Severity::note,
                     fmt::format("OMP_NUM_THREADS is '{}': the first number counts (threads of a "
                                 "rank start no others). Try: OMP_NUM_THREADS={}",
                                 rank.omp_text, rank.omp_num_threads)};
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<Finding> find_thread_problems(const Topology& topology) {
  std::vector<Finding> found;
  for (const auto& check : {threads_unclear, threads_share_cores, beyond_quota, threads_list}) {
    if (Found finding = check(topology)) {
      found.push_back(*std::move(finding));
    }
  }
  return found;
}

}  // namespace sherd::runtime
