// All ranks' parts of a state in one list, the same on every rank.
#include "io/layout/state_layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "io/layout/storable.hpp"
#include "io/layout/stored_parts.hpp"
#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

void append(std::vector<std::int64_t>& numbers, const std::vector<std::int64_t>& more) {
  numbers.insert(numbers.end(), more.begin(), more.end());
}

std::vector<std::int64_t> local_numbers(const dtensor::StateDict& state) {
  std::vector<std::int64_t> numbers;
  for (const auto& [key, tensor] : state.tensors) {
    numbers.push_back(tensor.spec.numel == 0 ? 0 : tensor.spec.offset);
    numbers.push_back(tensor.spec.numel);
    if (tensor.spec.block) {
      append(numbers, tensor.spec.block->start);
      append(numbers, tensor.spec.block->count);
    }
  }
  for (const auto& [key, blob] : state.per_rank) {
    numbers.push_back(static_cast<std::int64_t>(blob.size()));
  }
  return numbers;
}

/// Hands out the numbers that every rank sent, in the order local_numbers() lists them.
class GatheredNumbers {
 public:
  GatheredNumbers(comm::Communicator& world, const mesh::DeviceMesh& mesh,
                  const std::vector<std::int64_t>& mine)
      : mesh_(mesh),
        columns_(mine.size()),
        all_(mine.size() * static_cast<std::size_t>(world.size())) {
    world.all_gather(mine.data(), all_.data(), mine.size(), DType::i64).wait();
  }
  /// The number of `rank`, `ahead` columns from where next() stands.
  std::int64_t at(int rank, std::size_t ahead) const {
    return all_[static_cast<std::size_t>(mesh_.piece(rank)) * columns_ + column_ + ahead];
  }
  std::vector<std::int64_t> list(int rank, std::size_t ahead, std::size_t count) const {
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < count; ++i) {
      numbers.push_back(at(rank, ahead + i));
    }
    return numbers;
  }
  void next(std::size_t columns) { column_ += columns; }

 private:
  const mesh::DeviceMesh& mesh_;
  std::size_t columns_;
  std::size_t column_ = 0;
  std::vector<std::int64_t> all_;
};

TensorLayout gather_tensor(GatheredNumbers& numbers, int ranks, const std::string& key,
                           const dtensor::DTensor& tensor, std::size_t index) {
  const dtensor::ShardSpec& spec = tensor.spec;
  TensorLayout entry{key, spec, {}, {}, {}, {}, tensor.stage_group};
  const std::size_t dims = spec.block ? spec.global_shape.extents().size() : 0;
  for (int rank = 0; rank < ranks; ++rank) {
    entry.held.push_back({numbers.at(rank, 0), numbers.at(rank, 1)});
    if (spec.block) {
      entry.blocks.push_back({numbers.list(rank, 2, dims), numbers.list(rank, 2 + dims, dims)});
    }
  }
  numbers.next(2 + 2 * dims);
  assign_stored(entry, index);
  return entry;
}

}  // namespace

std::size_t item_count(const StateLayout& layout) noexcept {
  return layout.tensors.size() + layout.blobs.size();
}

std::uint64_t item_bytes(const StateLayout& layout, int rank, std::size_t item) {
  const auto index = static_cast<std::size_t>(rank);
  if (item >= layout.tensors.size()) {
    return static_cast<std::uint64_t>(layout.blobs[item - layout.tensors.size()].bytes[index]);
  }
  const TensorLayout& tensor = layout.tensors[item];
  return static_cast<std::uint64_t>(tensor.stored[index].numel) * size_of(tensor.facts.dtype);
}

std::vector<std::size_t> file_order(const StateLayout& layout) {
  std::vector<std::size_t> order(item_count(layout));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(),
                   order.begin() + static_cast<std::ptrdiff_t>(layout.tensors.size()),
                   [&](std::size_t a, std::size_t b) {
                     return layout.tensors[a].stage_group < layout.tensors[b].stage_group;
                   });
  return order;
}

std::string shared_signature(const dtensor::StateDict& state) {
  std::string text;
  for (const auto& [key, tensor] : state.tensors) {
    const dtensor::ShardSpec& spec = tensor.spec;
    text +=
        fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}\n", key, spec.name, spec.global_shape.to_string(),
                    to_string(spec.dtype), static_cast<int>(spec.placement), spec.requires_grad,
                    spec.block.has_value(), tensor.stage_group, fmt::join(spec.aliases, ","));
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
  check_storable(state);
  for (const auto& [key, tensor] : state.tensors) {
    dtensor::check_consistent(tensor.spec, tensor.local);
  }
}

StateLayout gather_layout(comm::Communicator& world, const mesh::DeviceMesh& mesh,
                          const dtensor::StateDict& state) {
  GatheredNumbers numbers(world, mesh, local_numbers(state));
  StateLayout layout;
  layout.world_size = world.size();
  for (const auto& [key, tensor] : state.tensors) {
    layout.tensors.push_back(
        gather_tensor(numbers, world.size(), key, tensor, layout.tensors.size()));
  }
  for (const auto& [key, blob] : state.per_rank) {
    BlobLayout entry{key, {}};
    for (int rank = 0; rank < world.size(); ++rank) {
      entry.bytes.push_back(numbers.at(rank, 0));
    }
    layout.blobs.push_back(std::move(entry));
    numbers.next(1);
  }
  return layout;
}

}  // namespace sherd::io
