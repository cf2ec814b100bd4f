#include "comm/issue/divergence.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>

namespace sherd::comm {
namespace {

/// Ranks that did the same, and what.
struct Group {
  std::string what;
  std::vector<int> ranks;
};

void add(std::vector<Group>& groups, const std::string& what, int rank) {
  const auto same = std::find_if(groups.begin(), groups.end(),
                                 [&](const Group& group) { return group.what == what; });
  if (same == groups.end()) {
    groups.push_back({what, {rank}});
  } else {
    same->ranks.push_back(rank);
  }
}

std::string names(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

std::string name_of(std::span<const std::string> labels, std::uint32_t label) {
  return label < labels.size() ? labels[label] : fmt::format("operation {}", label);
}

/// The entries that are known of several ranks, over the ranks of one era.
std::pair<std::uint64_t, std::uint64_t> known_numbers(const IssueHistories& histories,
                                                      std::uint64_t era) {
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t count = 0;
  for (const auto& history : histories) {
    if (history && history->era == era) {
      first = std::min(first, history->first);
      count = std::max(count, history->count);
    }
  }
  return {first, count};
}

std::set<std::uint64_t> hashes_at(const IssueHistories& histories, std::uint64_t era,
                                  std::uint64_t number) {
  std::set<std::uint64_t> hashes;
  for (const auto& history : histories) {
    if (history && history->era == era && history->has(number)) {
      hashes.insert(history->hash(number));
    }
  }
  return hashes;
}

std::string message_of(const IssueHistories& histories, std::uint64_t era, std::uint64_t number,
                       std::span<const std::string> labels) {
  std::vector<Group> groups;
  for (std::size_t rank = 0; rank < histories.size(); ++rank) {
    const auto& history = histories[rank];
    if (history && history->era == era && history->has(number)) {
      add(groups, name_of(labels, history->label(number)), static_cast<int>(rank));
    }
  }
  if (groups.size() == 1) {
    return fmt::format("the ranks issued different operations before number {}", number + 1);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.ranks.size() < b.ranks.size(); });
  std::string message;
  for (const Group& group : groups) {
    message += message.empty() ? fmt::format("{} issued {} as number {}", names(group.ranks),
                                             group.what, number + 1)
                               : fmt::format(", {} {}", names(group.ranks), group.what);
  }
  return message;
}

}  // namespace

std::optional<std::string> find_divergence(const IssueHistories& histories, std::uint64_t era,
                                           std::span<const std::string> labels) {
  const auto [first, count] = known_numbers(histories, era);
  for (std::uint64_t number = first; number < count; ++number) {
    if (hashes_at(histories, era, number).size() > 1) {
      return message_of(histories, era, number, labels) +
             " (all ranks must issue the same operations in the same order)";
    }
  }
  return std::nullopt;
}

std::string describe_last(const IssueHistories& histories, std::span<const std::string> labels) {
  std::vector<Group> groups;
  for (std::size_t rank = 0; rank < histories.size(); ++rank) {
    const auto& history = histories[rank];
    const std::string what =
        !history ? ": no answer"
        : history->count == 0
            ? " nothing"
            : fmt::format(" {} as number {}", name_of(labels, history->label(history->count - 1)),
                          history->count);
    add(groups, what, static_cast<int>(rank));
  }
  std::vector<std::string> parts;
  for (const Group& group : groups) {
    parts.push_back(names(group.ranks) + group.what);
  }
  return fmt::format("The ranks last issued: {}.", fmt::join(parts, "; "));
}

}  // namespace sherd::comm
