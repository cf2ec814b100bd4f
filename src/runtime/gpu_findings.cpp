#include "runtime/gpu_findings.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "sherd/base/error.hpp"
#include "sherd/runtime/placement.hpp"

namespace sherd::runtime {
namespace {

const RankFacts& facts_of(const Topology& topology, int rank) {
  return topology.ranks[static_cast<std::size_t>(rank)];
}

int index_of(const Topology& topology, int rank) {
  return topology.gpu_of_rank[static_cast<std::size_t>(rank)];
}

const Gpu& gpu_of(const Topology& topology, int rank) {
  return facts_of(topology, rank).visible_gpus[static_cast<std::size_t>(index_of(topology, rank))];
}

std::string variable_of(const RankFacts& rank) {
  return rank.cuda_visible_devices.empty()
             ? "CUDA_VISIBLE_DEVICES not set"
             : fmt::format("CUDA_VISIBLE_DEVICES={}", rank.cuda_visible_devices);
}

std::string describe_sharing(const Topology& topology, int first, int second) {
  const RankFacts& one = facts_of(topology, first);
  const RankFacts& other = facts_of(topology, second);
  const int node = topology.node_of_rank[static_cast<std::size_t>(first)];
  const int ranks = topology.ranks_per_node[static_cast<std::size_t>(node)];
  const Gpu& gpu = gpu_of(topology, first);
  return fmt::format(
      "with device: cuda, ranks {} ({}) and {} ({}) on {} would share GPU {} {} (the {} ranks "
      "there "
      "see {} and {} devices; NCCL refuses a device twice). Try: --gpus-per-node={} "
      "--gpu-bind=none "
      "instead of --gpus-per-task, or as many ranks as GPUs: --ntasks-per-node={}",
      first, variable_of(one), second, variable_of(other), one.host, gpu.pci, gpu.uuid, ranks,
      one.visible_gpus.size(), other.visible_gpus.size(), ranks, one.visible_gpus.size());
}

/// The index of a device differs from rank to rank, its UUID does not. A part of a divided device
/// has one of its own, but not a bus id.
std::optional<Finding> shared_gpu(const Topology& topology) {
  std::map<std::pair<int, std::string>, int> owner;
  std::optional<Finding> found;
  for (int rank = 0; rank < topology.size; ++rank) {
    if (index_of(topology, rank) < 0) {
      continue;
    }
    const Gpu& gpu = gpu_of(topology, rank);
    const int node = topology.node_of_rank[static_cast<std::size_t>(rank)];
    const auto [at, is_first] =
        owner.try_emplace({node, gpu.uuid.empty() ? gpu.pci : gpu.uuid}, rank);
    if (!is_first) {
      return Finding{"gpu_shared", Severity::error, describe_sharing(topology, at->second, rank)};
    }
  }
  return std::nullopt;
}

std::optional<Finding> missing_gpu(const Topology& topology) {
  int with = -1;
  int without = -1;
  for (int rank = 0; rank < topology.size; ++rank) {
    int& found = index_of(topology, rank) < 0 ? without : with;
    found = found < 0 ? rank : found;
  }
  if (with < 0 || without < 0) {
    return std::nullopt;
  }
  return Finding{
      "gpu_missing", Severity::error,
      fmt::format("with device: cuda, rank {} on {} has no GPU ({}), while rank {} on {} has one "
                  "(every rank needs one). Try: --gpus-per-node={} --gpu-bind=none",
                  without, facts_of(topology, without).host,
                  variable_of(facts_of(topology, without)), with, facts_of(topology, with).host,
                  topology.ranks_per_node.front())};
}

}  // namespace

std::vector<Finding> find_gpu_problems(const Topology& topology) {
  std::vector<Finding> found;
  for (const auto& check : {shared_gpu, missing_gpu}) {
    if (std::optional<Finding> finding = check(topology)) {
      found.push_back(*std::move(finding));
    }
  }
  return found;
}

void refuse_shared_gpus(const Topology& topology) {
  for (const Finding& finding : find_gpu_problems(topology)) {
    throw ConfigError(finding.text);
  }
}

}  // namespace sherd::runtime
