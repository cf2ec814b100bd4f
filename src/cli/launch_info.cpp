// The part of `sherd info` about the launch: nodes, ranks, findings.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/system_info.hpp"
#include "sherd/base/config.hpp"
#include "sherd/runtime/findings.hpp"
#include "sherd/runtime/placement.hpp"

namespace sherd::cli {
namespace {

using runtime::Gpu;
using runtime::Machine;
using runtime::Nic;
using runtime::RankFacts;
using runtime::Topology;

std::string plural(int number, const char* noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

/// "2" or "1 to 3 (uneven)"
std::string range_text(const std::vector<int>& numbers, const char* note) {
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  return *least == *most ? fmt::format("{}", *least)
                         : fmt::format("{} to {}{}", *least, *most, note);
}

std::string threads_text(const std::vector<int>& threads) {
  return fmt::format("{} thread{}", range_text(threads, ""),
                     *std::max_element(threads.begin(), threads.end()) == 1 ? "" : "s");
}

std::string started_by(const Topology& topology) {
  const runtime::Launch& launch = topology.ranks.front().launch;
  return launch.variable.empty() ? launch.launcher
                                 : fmt::format("{} (says {})", launch.launcher, launch.variable);
}

std::string job_text(const runtime::SlurmJob& job) {
  return fmt::format("{} {}, restart {}, nodes {}", job.id, job.name, job.restarts, job.nodes);
}

std::string cores_text(const Machine& machine) {
  return machine.allowed_cores == machine.cores
             ? plural(machine.cores, "core")
             : fmt::format("{} of {}", machine.allowed_cores, plural(machine.cores, "core"));
}

std::string names_text(const std::vector<Nic>& nics) {
  std::string text;
  for (const Nic& nic : nics) {
    text += (text.empty() ? "" : ", ") + nic.name;
  }
  return text.empty() ? "none" : text;
}

/// "2 GPUs (NVIDIA H200)": the names that differ, once each.
std::string gpus_text(const std::vector<Gpu>& gpus) {
  std::vector<std::string> names;
  for (const Gpu& gpu : gpus) {
    if (!gpu.name.empty() && std::find(names.begin(), names.end(), gpu.name) == names.end()) {
      names.push_back(gpu.name);
    }
  }
  const std::string count = plural(static_cast<int>(gpus.size()), "GPU");
  return names.empty() ? count : fmt::format("{} ({})", count, fmt::join(names, ", "));
}

std::string machine_text(const Machine& machine) {
  return fmt::format("{}, {}, {}, {}, network {}", plural(machine.packages, "socket"),
                     plural(machine.numa_nodes, "NUMA node"), cores_text(machine),
                     gpus_text(machine.gpus), names_text(machine.nics));
}

/// The device a rank takes: "0: 0000:18:00.0", with its UUID if there is one and it is asked for.
std::string gpu_text(const Topology& topology, int rank, bool with_uuid) {
  const int index = topology.gpu_of_rank[static_cast<std::size_t>(rank)];
  if (index < 0) {
    return "-";
  }
  const Gpu& gpu =
      topology.ranks[static_cast<std::size_t>(rank)].visible_gpus[static_cast<std::size_t>(index)];
  return fmt::format("{}: {} {}", index, gpu.pci, with_uuid ? gpu.uuid : "");
}

/// The columns of a rank that need not differ from node to node.
std::string placement_text(const Topology& topology, int rank) {
  const RankFacts& facts = topology.ranks[static_cast<std::size_t>(rank)];
  return fmt::format("{:>5}  {:<12} {:<6} {:>7}  ",
                     topology.local_of_rank[static_cast<std::size_t>(rank)], facts.cpus,
                     runtime::index_list(facts.numa_nodes),
                     topology.threads_of_rank[static_cast<std::size_t>(rank)]);
}

/// What two nodes must agree in to be shown as one: everything but names, numbers and UUIDs.
std::string shape_of(const Topology& topology, int node, int first_rank) {
  std::string text = machine_text(topology.machines[static_cast<std::size_t>(node)]);
  for (int local = 0; local < topology.ranks_per_node[static_cast<std::size_t>(node)]; ++local) {
    text += placement_text(topology, first_rank + local) +
            gpu_text(topology, first_rank + local, false) + "\n";
  }
  return text;
}

/// Neighbouring nodes of one shape; only the first is shown in full.
struct NodeRun {
  int first = 0;
  int count = 1;
  int first_rank = 0;
  std::string shape;
};

/// Few nodes are all shown.
constexpr int kShownInFull = 2;

std::vector<NodeRun> runs_of(const Topology& topology) {
  std::vector<NodeRun> runs;
  int first_rank = 0;
  for (int node = 0; node < topology.nodes; ++node) {
    std::string shape = shape_of(topology, node, first_rank);
    if (topology.nodes > kShownInFull && !runs.empty() && runs.back().shape == shape) {
      ++runs.back().count;
    } else {
      runs.push_back({node, 1, first_rank, std::move(shape)});
    }
    first_rank += topology.ranks_per_node[static_cast<std::size_t>(node)];
  }
  return runs;
}

std::string rank_lines(const Topology& topology, const NodeRun& run) {
  const auto node = static_cast<std::size_t>(run.first);
  std::string text;
  for (int local = 0; local < topology.ranks_per_node[node]; ++local) {
    const int rank = run.first_rank + local;
    const RankFacts& facts = topology.ranks[static_cast<std::size_t>(rank)];
    std::string line = fmt::format("  {:>5} {:<16} {:>4} ", rank, facts.host, run.first);
    line += placement_text(topology, rank) + gpu_text(topology, rank, true);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string folded_line(const Topology& topology, const NodeRun& run) {
  const int each = topology.ranks_per_node[static_cast<std::size_t>(run.first)];
  const int first_rank = run.first_rank + each;
  const int last_rank = run.first_rank + run.count * each - 1;
  return fmt::format("  {:>5} to {}: nodes {} to {} ({} to {}), {} on each, placed as above\n",
                     first_rank, last_rank, run.first + 1, run.first + run.count - 1,
                     topology.ranks[static_cast<std::size_t>(first_rank)].host,
                     topology.ranks[static_cast<std::size_t>(last_rank)].host,
                     plural(each, "rank"));
}

std::string nodes_text(const Topology& topology, const std::vector<NodeRun>& runs) {
  std::string text = "nodes\n";
  for (const NodeRun& run : runs) {
    const std::string& host = topology.ranks[static_cast<std::size_t>(run.first_rank)].host;
    const std::string others = run.count == 1 ? "" : fmt::format(" and {} like it", run.count - 1);
    text += fmt::format("  {}{}: {}\n", host, others,
                        machine_text(topology.machines[static_cast<std::size_t>(run.first)]));
  }
  return text;
}

std::string ranks_text(const Topology& topology, const std::vector<NodeRun>& runs) {
  std::string text = fmt::format("ranks\n  {:>5} {:<16} {:>4} {:>5}  {:<12} {:<6} {:>7}  {}\n",
                                 "rank", "host", "node", "local", "cpus", "NUMA", "threads", "GPU");
  for (const NodeRun& run : runs) {
    text += rank_lines(topology, run);
    if (run.count > 1) {
      text += folded_line(topology, run);
    }
  }
  return text;
}

std::string findings_text(const Topology& topology) {
  const std::vector<runtime::Finding> findings = runtime::find_problems(topology);
  std::string text = "findings\n";
  for (const runtime::Finding& finding : findings) {
    text += fmt::format("  {}: {}\n", runtime::to_string(finding.severity), finding.text);
  }
  return findings.empty() ? text + "  none\n" : text;
}

}  // namespace

std::string launch_info(const Topology& topology) {
  const runtime::SlurmJob& job = topology.ranks.front().slurm;
  const std::vector<NodeRun> runs = runs_of(topology);
  std::string text = fmt::format(
      "launch\n  launcher {}\n  MPI      {}, {}\n  nodes x local ranks = {} x {}, {} in all\n",
      started_by(topology), topology.mpi_library, topology.mpi_thread_level, topology.nodes,
      range_text(topology.ranks_per_node, " (uneven)"), plural(topology.size, "rank"));
  if (!job.id.empty()) {
    text += fmt::format("  Slurm    {}\n", job_text(job));
  }
  return text + nodes_text(topology, runs) + ranks_text(topology, runs) + findings_text(topology);
}

std::string start_line(const Topology& topology) {
  const runtime::SlurmJob& job = topology.ranks.front().slurm;
  std::string text =
      fmt::format("sherd {}: {} on {} ({} on each), {} per rank, launcher {}", SHERD_VERSION,
                  plural(topology.size, "rank"), plural(topology.nodes, "node"),
                  range_text(topology.ranks_per_node, ""), threads_text(topology.threads_of_rank),
                  started_by(topology));
  return job.id.empty() ? text : fmt::format("{}, Slurm job {}", text, job_text(job));
}

}  // namespace sherd::cli
