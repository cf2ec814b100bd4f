#include "fsdp/same_everywhere.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sherd/base/check.hpp"
#include "sherd/base/fnv1a.hpp"
#include "sherd/comm/agree.hpp"

namespace sherd::fsdp {
namespace {

std::uint64_t hash_of(const std::vector<std::string>& lines) {
  std::uint64_t hash = kFnv1aStart;
  for (const std::string& line : lines) {
    hash = fnv1a("\n", fnv1a(line, hash));
  }
  return hash;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// "" when the lines are equal.
std::string first_difference(const std::vector<std::string>& mine,
                             const std::vector<std::string>& root, int root_rank) {
  for (std::size_t i = 0; i < std::max(mine.size(), root.size()); ++i) {
    const std::string here = i < mine.size() ? mine[i] : "nothing";
    const std::string there = i < root.size() ? root[i] : "nothing";
    if (here != there) {
      return fmt::format("has {} where rank {} has {}", here, root_rank, there);
    }
  }
  return "";
}

std::string describe(const nn::NamedParameter& parameter) {
  const nn::Variable& value = parameter.value;
  return fmt::format("parameter {} {} {}{}{}", parameter.name, value.shape().to_string(),
                     to_string(value.dtype()), value.requires_grad() ? "" : " frozen",
                     parameter.aliases.empty()
                         ? ""
                         : fmt::format(" tied to {}", fmt::join(parameter.aliases, ", ")));
}

}  // namespace

std::vector<std::string> describe(const GroupSet& set, const StatePlan& plan,
                                  const FullyShardOptions& options) {
  const MixedPrecisionPolicy& policy = plan.policy();
  std::vector<std::string> lines{
      fmt::format("strategy {}", plan.row().name),
      fmt::format("seed {}", options.seed),
      fmt::format("prefetch_depth {}", options.prefetch_depth),
      fmt::format("reduction_slots {}", options.reduction_slots),
      fmt::format("accumulation {}", static_cast<int>(plan.options.accumulation)),
      fmt::format("reshard_after_backward {}", plan.options.reshard_after_backward),
      fmt::format("offload {} {}", options.offload.params, options.offload.optimizer_state),
      fmt::format("groups kept after forward {}", fmt::join(plan.keep, " ")),
      fmt::format("dtypes {} {} {} {} {}", to_string(policy.param_dtype),
                  to_string(policy.master_dtype), to_string(policy.reduce()),
                  to_string(policy.cross_reduce()), to_string(policy.accumulate()))};
  for (const Group& group : set.groups) {
    lines.push_back(fmt::format("group '{}'", group.name));
    for (const std::size_t b : group.buffers) {
      for (const nn::NamedParameter& parameter : set.buffers[b].parameters) {
        lines.push_back(describe(parameter));
      }
      lines.push_back(fmt::format("a buffer of {} elements", set.buffers[b].numel()));
    }
  }
  for (const IgnoredParameter& ignored : set.ignored) {
    lines.push_back("ignored " + describe(ignored.parameter));
  }
  return lines;
}

void require_same_everywhere(comm::Communicator& world, const mesh::DeviceMesh& mesh,
                             const std::vector<std::string>& lines) {
  const std::uint64_t mine = hash_of(lines);
  std::vector<std::uint64_t> all(static_cast<std::size_t>(world.size()));
  world.all_gather(&mine, all.data(), sizeof mine, DType::u8).wait();
  const auto odd =
      std::find_if(all.begin(), all.end(), [&](std::uint64_t hash) { return hash != all.front(); });
  if (odd == all.end()) {
    return;
  }
  const auto rank = static_cast<int>(odd - all.begin());
  std::string root = fmt::format("{}\n", fmt::join(lines, "\n"));
  comm::broadcast_text(world, root, 0);
  std::string difference = first_difference(lines, split_lines(root), mesh.owner(0));
  comm::broadcast_text(world, difference, rank);
  throw ConfigError(fmt::format(
      "fully_shard: rank {} {} (all ranks must shard the same module with the same options). Try: "
      "build the module from the configuration alone, not from the rank",
      mesh.owner(rank), difference));
}

}  // namespace sherd::fsdp
