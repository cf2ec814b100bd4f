// Who of several ranks that hold the same elements writes them.
#include "io/layout/stored_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

void share_replicas(TensorLayout& tensor) {
  std::map<std::int64_t, std::vector<std::size_t>> holders;  // by first element
  for (std::size_t rank = 0; rank < tensor.held.size(); ++rank) {
    if (tensor.held[rank].numel > 0) {
      holders[tensor.held[rank].first].push_back(rank);
    }
  }
  const std::size_t replicas = holders.empty() ? 0 : holders.begin()->second.size();
  for (const auto& [first, ranks] : holders) {
    const dtensor::FlatRange range = tensor.held[ranks.front()];
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (ranks.size() != replicas || tensor.held[ranks[i]] != range) {
        throw ArgumentError(fmt::format(
            "tensor '{}': ranges from element {} on are held by {} ranks, the first by {}, or in "
            "two lengths (a hybrid tensor's ranges must all be held equally often)",
            tensor.key, first, ranks.size(), replicas));
      }
      tensor.replica[ranks[i]] = static_cast<int>(i);
      tensor.stored[ranks[i]] =
          dtensor::even_part(range, static_cast<int>(ranks.size()), static_cast<int>(i));
    }
  }
}

/// The stored ranges from the held ones: where several ranks hold the same range (all of them when
/// replicated, one of each node when hybrid), each writes an even part of it.
void assign_stored_ranges(TensorLayout& tensor) {
  const std::int64_t total = tensor.facts.global_shape.numel();
  tensor.stored = tensor.held;
  tensor.replica.assign(tensor.held.size(), 0);
  if (tensor.facts.placement != dtensor::Placement::sharded) {
    share_replicas(tensor);
  }
  std::vector<dtensor::FlatRange> sorted = tensor.stored;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.numel < b.numel;
  });
  std::int64_t at = 0;
  for (const dtensor::FlatRange& range : sorted) {
    if (range.numel > 0 && range.first != at) {
      throw ArgumentError(fmt::format(
          "tensor '{}': element {} is held by {} (a sharded tensor's ranges must partition it)",
          tensor.key, std::min(at, range.first), range.first < at ? "two ranks" : "no rank"));
    }
    at += range.numel;
  }
  if (at != total) {
    throw ArgumentError(
        fmt::format("tensor '{}': ranks hold {} of {} elements", tensor.key, at, total));
  }
}

/// The ranks that hold each block; blocks without elements are left out.
std::vector<std::pair<dtensor::Block, std::vector<std::size_t>>> holders_of_blocks(
    const TensorLayout& tensor) {
  const auto before = [](const dtensor::Block& a, const dtensor::Block& b) {
    return std::tie(a.start, a.count) < std::tie(b.start, b.count);
  };
  std::map<dtensor::Block, std::vector<std::size_t>, decltype(before)> holders(before);
  for (std::size_t rank = 0; rank < tensor.blocks.size(); ++rank) {
    if (tensor.held[rank].numel > 0) {
      holders[tensor.blocks[rank]].push_back(rank);
    }
  }
  return {holders.begin(), holders.end()};
}

[[noreturn]] void refuse_blocks(const TensorLayout& tensor, const std::string& problem) {
  throw ArgumentError(fmt::format("tensor '{}': {}", tensor.key, problem));
}

/// Every block of all ranks once: apart from each other, and all elements in them.
void check_blocks(const TensorLayout& tensor,
                  std::span<const std::pair<dtensor::Block, std::vector<std::size_t>>> holders) {
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < holders.size(); ++i) {
    const auto& [block, ranks] = holders[i];
    elements += block.numel();
    for (std::size_t j = 0; j < i; ++j) {
      if (dtensor::intersect(block, holders[j].first).numel() > 0) {
        refuse_blocks(tensor, fmt::format("the blocks of ranks {} and {} overlap (blocks must be "
                                          "equal or apart)",
                                          holders[j].second.front(), ranks.front()));
      }
    }
    if (ranks.size() != holders.front().second.size() ||
        (tensor.facts.placement == dtensor::Placement::sharded && ranks.size() != 1)) {
      refuse_blocks(tensor, fmt::format("the block of rank {} is held by {} ranks, that of rank {} "
                                        "by {} (a sharded tensor's by one, a hybrid one's all by "
                                        "equally many)",
                                        ranks.front(), ranks.size(), holders.front().second.front(),
                                        holders.front().second.size()));
    }
  }
  if (elements != tensor.facts.global_shape.numel()) {
    refuse_blocks(tensor, fmt::format("the ranks' blocks hold {} of {} elements", elements,
                                      tensor.facts.global_shape.numel()));
  }
}

/// One of the ranks that hold a block writes it, another one for the next tensor.
void assign_stored_blocks(TensorLayout& tensor, std::size_t index) {
  const auto holders = holders_of_blocks(tensor);
  check_blocks(tensor, holders);
  tensor.stored.assign(tensor.held.size(), {0, 0});
  tensor.replica.assign(tensor.held.size(), 0);
  for (const auto& [block, ranks] : holders) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      tensor.replica[ranks[i]] = static_cast<int>(i);
    }
    const std::size_t writer = ranks[index % ranks.size()];
    tensor.stored[writer] = tensor.held[writer];
  }
}

}  // namespace

void assign_stored(TensorLayout& tensor, std::size_t index) {
  if (tensor.facts.block) {
    assign_stored_blocks(tensor, index);
  } else {
    assign_stored_ranges(tensor);
  }
}

}  // namespace sherd::io
