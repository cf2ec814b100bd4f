#include "sherd/runtime/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "runtime/gpu_findings.hpp"
#include "runtime/thread_findings.hpp"
#include "sherd/base/check.hpp"
#include "sherd/runtime/placement.hpp"

namespace sherd::runtime {
namespace {

using Found = std::optional<Finding>;

bool started_by_srun(const Topology& topology) {
  return topology.ranks.front().launch.launcher.rfind("srun", 0) == 0;
}

const Machine& machine_of(const Topology& topology, int node) {
  return topology.machines[static_cast<std::size_t>(node)];
}

const std::string& host_of(const Topology& topology, int node) {
  return ranks_of_node(topology, node).front().host;
}

std::string plural(std::size_t number, const char* noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string plural(int number, const char* noun) {
  return plural(static_cast<std::size_t>(number), noun);
}

/// "--ntasks-per-node=2" or what says the same to mpirun.
std::string ranks_per_node_line(const Topology& topology, int ranks) {
  return started_by_srun(topology) ? fmt::format("--ntasks-per-node={}", ranks)
                                   : fmt::format("mpirun --map-by ppr:{}:node", ranks);
}

Found wrong_number_of_ranks(const Topology& topology) {
  const SlurmJob& job = topology.ranks.front().slurm;
  if (job.tasks == 0 || job.tasks == topology.size) {
    return std::nullopt;
  }
  return Finding{
      "task_count", Severity::warning,
      fmt::format(
          "this launch has {}, but the job's SLURM_NTASKS is {} (what the job "
          "holds is not what runs). Try: {}",
          plural(topology.size, "rank"), job.tasks,
          started_by_srun(topology)
              ? fmt::format("srun without --ntasks, or #SBATCH --ntasks={}", topology.size)
              : fmt::format("mpirun -n {}, or #SBATCH --ntasks={}", job.tasks, topology.size))};
}

/// Ranks of one node that may run on the cores of `mask` and nowhere else.
std::vector<int> confined_to(std::span<const RankFacts> node, const std::vector<int>& mask,
                             int first_rank) {
  std::vector<int> ranks;
  for (std::size_t local = 0; local < node.size(); ++local) {
    const std::vector<int>& cores = node[local].cores;
    if (std::includes(mask.begin(), mask.end(), cores.begin(), cores.end())) {
      ranks.push_back(first_rank + static_cast<int>(local));
    }
  }
  return ranks;
}

/// A set of cores with more ranks than cores, and who is confined to it.
struct Crowd {
  const RankFacts* member = nullptr;  // may run on the whole set
  std::vector<int> ranks;
  double ranks_per_core = 1.0;
};

/// The worst crowd of a node; without a member when no rank need wait for another.
Crowd worst_crowd(const Topology& topology, int node) {
  Crowd worst;
  const std::span<const RankFacts> ranks = ranks_of_node(topology, node);
  const auto first = static_cast<int>(ranks.data() - topology.ranks.data());
  const std::vector<int>* last = nullptr;
  for (const RankFacts& rank : ranks) {
    if (rank.cores.empty() || (last != nullptr && *last == rank.cores)) {
      continue;  // neighbours mostly share one set, and nodes may have hundreds of ranks
    }
    last = &rank.cores;
    std::vector<int> confined = confined_to(ranks, rank.cores, first);
    const double crowding =
        static_cast<double>(confined.size()) / static_cast<double>(rank.cores.size());
    if (crowding > worst.ranks_per_core) {
      worst = {&rank, std::move(confined), crowding};
    }
  }
  return worst;
}

/// How many cores of a node each of its ranks could have to itself.
int fair_share(const Topology& topology, int node) {
  return std::max(1, machine_of(topology, node).allowed_cores /
                         topology.ranks_per_node[static_cast<std::size_t>(node)]);
}

std::string binding_line(const Topology& topology, int node) {
  const int ranks = topology.ranks_per_node[static_cast<std::size_t>(node)];
  const int each = fair_share(topology, node);
  return started_by_srun(topology)
             ? fmt::format("#SBATCH --cpus-per-task={} and export SRUN_CPUS_PER_TASK={}", each,
                           each)
             : fmt::format("mpirun --map-by ppr:{}:node:pe={} --bind-to core", ranks, each);
}

std::string and_more(int nodes) {
  return nodes == 0 ? "" : fmt::format("; {} like it", plural(nodes, "more node"));
}

Finding piled(const Topology& topology, int node, const Crowd& crowd, int more) {
  return {"ranks_share_cores", Severity::warning,
          fmt::format("ranks {} on {} may run on cpus {} only (they take turns on {}, while {} may "
                      "be used there{}). Try: {}",
                      index_list(crowd.ranks), host_of(topology, node), crowd.member->cpus,
                      plural(crowd.member->cores.size(), "core"),
                      machine_of(topology, node).allowed_cores, and_more(more),
                      binding_line(topology, node))};
}

Finding oversubscribed(const Topology& topology, int node, int more) {
  const Machine& machine = machine_of(topology, node);
  const int ranks = topology.ranks_per_node[static_cast<std::size_t>(node)];
  const bool limited = machine.allowed_cores < machine.cores;
  return {
      "more_ranks_than_cores", Severity::warning,
      fmt::format("{} has {} on {}{} (ranks take turns{}). Try: {}", host_of(topology, node),
                  plural(ranks, "rank"), plural(machine.allowed_cores, "core"),
                  limited ? fmt::format(", all that the job was given of {}", machine.cores) : "",
                  and_more(more),
                  limited ? fmt::format("--ntasks-per-node={} --cpus-per-task=1", ranks)
                          : ranks_per_node_line(topology, machine.allowed_cores))};
}

/// More ranks than cores: because they are bound badly, or because there are too many.
std::vector<Finding> crowded(const Topology& topology) {
  std::vector<std::pair<int, Crowd>> badly_bound;
  std::vector<int> too_many;
  for (int node = 0; node < topology.nodes; ++node) {
    Crowd crowd = worst_crowd(topology, node);
    if (crowd.member == nullptr) {
      continue;
    }
    if (static_cast<int>(crowd.member->cores.size()) < machine_of(topology, node).allowed_cores) {
      badly_bound.emplace_back(node, std::move(crowd));
    } else {
      too_many.push_back(node);
    }
  }
  std::vector<Finding> found;
  if (!badly_bound.empty()) {
    found.push_back(piled(topology, badly_bound.front().first, badly_bound.front().second,
                          static_cast<int>(badly_bound.size()) - 1));
  }
  if (!too_many.empty()) {
    found.push_back(
        oversubscribed(topology, too_many.front(), static_cast<int>(too_many.size()) - 1));
  }
  return found;
}

/// Ranks that are bound so that they could have more cores, and nobody has.
Found idle_cores(const Topology& topology) {
  for (int node = 0; node < topology.nodes; ++node) {
    std::set<int> used;
    for (const RankFacts& rank : ranks_of_node(topology, node)) {
      used.insert(rank.cores.begin(), rank.cores.end());
    }
    const auto count = static_cast<int>(used.size());
    const int ranks = topology.ranks_per_node[static_cast<std::size_t>(node)];
    const bool is_tight = worst_crowd(topology, node).member != nullptr;  // said already
    if (!is_tight && count < ranks * fair_share(topology, node)) {
      return Finding{
          "idle_cores", Severity::note,
          fmt::format("the {} of {} may run on {} of its {} (the threads of a rank could "
                      "use the others). Try: {}",
                      plural(ranks, "rank"), host_of(topology, node), count,
                      plural(machine_of(topology, node).allowed_cores, "core"),
                      binding_line(topology, node))};
    }
  }
  return std::nullopt;
}

Found uneven_nodes(const Topology& topology) {
  const std::vector<int>& counts = topology.ranks_per_node;
  const auto [fewest, most] = std::minmax_element(counts.begin(), counts.end());
  if (*fewest == *most) {
    return std::nullopt;
  }
  return Finding{
      "uneven_nodes", Severity::error,
      fmt::format(
          "{} has {} and {} has {} (sherd train cuts states over nodes x local ranks, under "
          "every strategy, and needs equal numbers). Try: {}",
          host_of(topology, static_cast<int>(most - counts.begin())), plural(*most, "rank"),
          host_of(topology, static_cast<int>(fewest - counts.begin())), *fewest,
          ranks_per_node_line(topology, *most))};
}

Found unlike_nodes(const Topology& topology) {
  const Machine& first = topology.machines.front();
  for (int node = 1; node < topology.nodes; ++node) {
    const Machine& other = machine_of(topology, node);
    if (other.allowed_cores != first.allowed_cores || other.gpus.size() != first.gpus.size()) {
      return Finding{
          "unlike_nodes", Severity::warning,
          fmt::format("{} has {} and {}, {} has {} and {} (every step waits for the slowest rank). "
                      "Try: --exclusive and one kind of node, --constraint=FEATURE",
                      host_of(topology, 0), plural(first.allowed_cores, "core"),
                      plural(first.gpus.size(), "GPU"), host_of(topology, node),
                      plural(other.allowed_cores, "core"), plural(other.gpus.size(), "GPU"))};
    }
  }
  return std::nullopt;
}

Found reordered(const Topology& topology) {
  if (!topology.reordered()) {
    return std::nullopt;
  }
  std::vector<int> first_node(
      topology.world_rank_of_rank.begin(),
      topology.world_rank_of_rank.begin() + topology.ranks_per_node.front());
  return Finding{
      "reordered", Severity::note,
      fmt::format(
          "the launcher has put its ranks {} on {}; here they are ranks 0-{} "
          "(neighbours share a node, whatever the launcher does). Try: {} to have "
          "both numbers agree",
          index_list(first_node), host_of(topology, 0), topology.ranks_per_node.front() - 1,
          started_by_srun(topology) ? "srun --distribution=block" : "mpirun --map-by slot")};
}

}  // namespace

std::string_view to_string(Severity severity) {
  constexpr std::string_view kNames[] = {"note", "warning", "error"};
  return kNames[static_cast<std::size_t>(severity)];
}

std::vector<Finding> find_problems(const Topology& topology) {
  std::vector<Finding> found = find_gpu_problems(topology);
  for (const auto& check :
       {uneven_nodes, wrong_number_of_ranks, unlike_nodes, reordered, idle_cores}) {
    if (Found finding = check(topology)) {
      found.push_back(*std::move(finding));
    }
  }
  for (std::vector<Finding> more : {crowded(topology), find_thread_problems(topology)}) {
    std::move(more.begin(), more.end(), std::back_inserter(found));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  return found;
}

void refuse_errors(const Topology& topology, bool uses_gpus) {
  for (const Finding& finding : find_problems(topology)) {
    const bool concerns_gpus = finding.id.rfind("gpu_", 0) == 0;
    validate(finding.severity != Severity::error || (concerns_gpus && !uses_gpus), finding.text);
  }
}

}  // namespace sherd::runtime
