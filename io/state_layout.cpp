#include "io/state_layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

std::string top_level(const std::string& key) { return key.substr(0, key.find('.')); }

void check_names(const dtensor::StateDict& state) {
  std::set<std::string> names;
  for (const auto& [key, tensor] : state.tensors) {
    if (key.empty() || top_level(key) == "meta" || top_level(key) == "dtypes") {
      throw ArgumentError(fmt::format(
          "tensor key '{}' cannot be stored ('meta' and 'dtypes' are the format's own groups)",
          key));
    }
    names.insert(key);
  }
  for (const auto& [key, tensor] : state.tensors) {
    for (const std::string& alias : tensor.spec.aliases) {
      if (!names.insert(top_level(key) + "." + alias).second) {
        throw ArgumentError(fmt::format("alias '{}' of '{}' names another tensor too", alias, key));
      }
    }
  }
  for (const std::string& name : names) {
    for (auto dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
      if (names.count(name.substr(0, dot)) != 0) {
        throw ArgumentError(
            fmt::format("tensor keys '{}' and '{}' exclude each other (one would "
                        "be a dataset and a group at once)",
                        name.substr(0, dot), name));
      }
    }
  }
}

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
void assign_stored(TensorLayout& tensor) {
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

std::vector<std::int64_t> local_numbers(const dtensor::StateDict& state) {
  std::vector<std::int64_t> numbers;
  for (const auto& [key, tensor] : state.tensors) {
    numbers.push_back(tensor.spec.numel == 0 ? 0 : tensor.spec.offset);
    numbers.push_back(tensor.spec.numel);
  }
  for (const auto& [key, blob] : state.per_rank) {
    numbers.push_back(static_cast<std::int64_t>(blob.size()));
  }
  return numbers;
}

}  // namespace

std::string shared_signature(const dtensor::StateDict& state) {
  std::string text;
  for (const auto& [key, tensor] : state.tensors) {
    const dtensor::ShardSpec& spec = tensor.spec;
    text += fmt::format("{}|{}|{}|{}|{}|{}|{}\n", key, spec.name, spec.global_shape.to_string(),
                        to_string(spec.dtype), static_cast<int>(spec.placement), spec.requires_grad,
                        fmt::join(spec.aliases, ","));
  }
  for (const auto& [key, blob] : state.per_rank) {
    text += fmt::format("per_rank {}\n", key);
  }
  for (const auto& [key, value] : state.common) {
    text += fmt::format("common {}\n", key);
  }
  return text;
}

std::string structure_signature(const dtensor::StateDict& state) {
  return fmt::format("{}{}", shared_signature(state), fmt::join(local_numbers(state), " "));
}

void check_state(const dtensor::StateDict& state) {
  check_names(state);
  for (const auto& [key, tensor] : state.tensors) {
    dtensor::check_consistent(tensor.spec, tensor.local);
  }
}

StateLayout gather_layout(comm::Communicator& world, const mesh::DeviceMesh& mesh,
                          const dtensor::StateDict& state) {
  const std::vector<std::int64_t> mine = local_numbers(state);
  const auto ranks = static_cast<std::size_t>(world.size());
  std::vector<std::int64_t> all(mine.size() * ranks);
  world.all_gather(mine.data(), all.data(), mine.size(), DType::i64).wait();

  StateLayout layout;
  layout.world_size = world.size();
  std::size_t column = 0;
  const auto number = [&](int rank, std::size_t at) {
    return all[static_cast<std::size_t>(mesh.piece(rank)) * mine.size() + at];
  };
  for (const auto& [key, tensor] : state.tensors) {
    TensorLayout entry{key, tensor.spec, {}, {}, {}};
    for (int rank = 0; rank < world.size(); ++rank) {
      entry.held.push_back({number(rank, column), number(rank, column + 1)});
    }
    assign_stored(entry);
    layout.tensors.push_back(std::move(entry));
    column += 2;
  }
  for (const auto& [key, blob] : state.per_rank) {
    BlobLayout entry{key, {}};
    for (int rank = 0; rank < world.size(); ++rank) {
      entry.bytes.push_back(number(rank, column));
    }
    layout.blobs.push_back(std::move(entry));
    ++column;
  }
  return layout;
}

}  // namespace sherd::io
