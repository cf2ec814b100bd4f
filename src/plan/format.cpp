#include "plan/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <set>

namespace sherd::plan {
namespace {

/// "layers.12" as "layers." and 12; -1 where the name does not end in a number.
std::pair<std::string, int> split_number(const std::string& name) {
  const auto dot = name.rfind('.');
  const std::size_t at = dot == std::string::npos ? 0 : dot + 1;
  int number = -1;
  const auto [end, error] = std::from_chars(name.data() + at, name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) {
    return {name, -1};
  }
  return {name.substr(0, at), number};
}

/// The distance between neighbours where it is the same all along, else 0.
int stride_of(const std::set<int>& numbers) {
  const int step = *std::next(numbers.begin()) - *numbers.begin();
  for (auto at = numbers.begin(); std::next(at) != numbers.end(); ++at) {
    if (*std::next(at) - *at != step) {
      return 0;
    }
  }
  return step;
}

std::string ranges_text(const std::string& prefix, const std::set<int>& numbers) {
  if (numbers.size() > 3 && stride_of(numbers) > 1) {
    return fmt::format("{}{},{}..{}", prefix, *numbers.begin(), *std::next(numbers.begin()),
                       *numbers.rbegin());
  }
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const int first = *at;
    int last = first;
    while (++at != numbers.end() && *at == last + 1) {
      last = *at;
    }
    text += text.empty() ? prefix : ",";
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  return text;
}

}  // namespace

std::string bytes_text(std::size_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024.0 && unit < 4) {
    value /= 1024.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} {}", value, kUnits[unit]);
}

std::string_view to_text(fsdp::Phase phase) {
  constexpr std::string_view kNames[] = {"forward", "backward", "update"};
  return kNames[static_cast<std::size_t>(phase)];
}

std::string_view to_text(fsdp::LinkLevel level) {
  return level == fsdp::LinkLevel::node ? "node" : "cross";
}

std::string_view to_text(fsdp::Collective collective) {
  constexpr std::string_view kNames[] = {"all_gather", "reduce_scatter", "all_reduce"};
  return kNames[static_cast<std::size_t>(collective)];
}

std::string_view to_text(fsdp::Accumulation accumulation) {
  constexpr std::string_view kNames[] = {"reduce_each", "defer_all_reduce", "no_sync"};
  return kNames[static_cast<std::size_t>(accumulation)];
}

std::string_view checkpointing_text(const config::FsdpConfig& config) {
  if (!config.activation_checkpointing) {
    return "off";
  }
  return config.use_reentrant ? "reentrant" : "non_reentrant";
}

std::string fold_names(const std::vector<std::string>& names) {
  std::vector<std::string> order;
  std::map<std::string, std::set<int>> numbers;
  for (const std::string& name : names) {
    const auto [prefix, number] = split_number(name);
    if (std::find(order.begin(), order.end(), prefix) == order.end()) {
      order.push_back(prefix);
    }
    if (number >= 0) {
      numbers[prefix].insert(number);
    }
  }
  std::string text;
  for (const std::string& prefix : order) {
    text += text.empty() ? "" : ", ";
    const auto found = numbers.find(prefix);
    text += found != numbers.end() ? ranges_text(prefix, found->second)
            : prefix.empty()       ? "root"
                                   : prefix;
  }
  return text;
}

std::vector<FoldedGroups> fold(const std::vector<fsdp::GroupReport>& groups) {
  std::vector<FoldedGroups> folded;
  for (const fsdp::GroupReport& group : groups) {
    const auto found = std::find_if(folded.begin(), folded.end(), [&](const FoldedGroups& other) {
      return !group.name.empty() && !other.one.name.empty() &&
             other.one.parameters == group.parameters && other.one.trainable == group.trainable &&
             other.one.buffer_numel == group.buffer_numel &&
             other.one.piece_numel == group.piece_numel;
    });
    if (found != folded.end()) {
      found->names.push_back(group.name);
    } else {
      folded.push_back({group, {group.name}});
    }
  }
  return folded;
}

std::vector<FoldedCollectives> fold(const std::vector<fsdp::PlannedCollective>& collectives) {
  std::vector<FoldedCollectives> folded;
  for (const fsdp::PlannedCollective& collective : collectives) {
    const auto found =
        std::find_if(folded.begin(), folded.end(), [&](const FoldedCollectives& other) {
          fsdp::PlannedCollective renamed = other.one;
          renamed.group = collective.group;
          return renamed == collective;
        });
    if (found != folded.end()) {
      found->groups.push_back(collective.group);
    } else {
      folded.push_back({collective, {collective.group}});
    }
  }
  return folded;
}

}  // namespace sherd::plan
