#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sherd/dtensor/block.hpp"
#include "support/checkpoint_world.hpp"

/// Tensors cut in every way there is, filled so that each element shows where it belongs.
namespace sherd::io::test {

enum class AnyCut {
  even,
  first_rank_only,
  last_is_empty,
  hybrid,
  replicated,
  rows,          ///< blocks of dimension 0
  columns,       ///< blocks of the last dimension
  grid,          ///< nodes cut dimension 0, the ranks of a node the last one
  node_columns,  ///< nodes cut the last dimension, the ranks of a node hold the same block
  whole_blocks   ///< every rank holds one block: all of it
};

inline constexpr std::array kAllCuts = {AnyCut::even,          AnyCut::first_rank_only,
                                        AnyCut::last_is_empty, AnyCut::hybrid,
                                        AnyCut::replicated,    AnyCut::rows,
                                        AnyCut::columns,       AnyCut::grid,
                                        AnyCut::node_columns,  AnyCut::whole_blocks};

inline std::vector<dtensor::MeshDim> mesh_dims(AnyCut cut, const Shape& shape,
                                               const comm::Ranks& ranks) {
  const mesh::MeshCoord at = ranks.mesh->coord(ranks.rank());
  const int last = static_cast<int>(shape.extents().size()) - 1;
  const int nodes = ranks.mesh->nodes();
  const int local = ranks.mesh->local_size();
  switch (cut) {
    case AnyCut::rows:
      return {{ranks.size(), ranks.rank(), 0}};
    case AnyCut::columns:
      return {{ranks.size(), ranks.rank(), last}};
    case AnyCut::grid:
      return {{nodes, at.node, 0}, {local, at.local, last}};
    case AnyCut::node_columns:
      return {{nodes, at.node, last}, {local, at.local, -1}};
    default:
      return {{ranks.size(), ranks.rank(), -1}};
  }
}

inline dtensor::Placement placement_of_cut(AnyCut cut) {
  switch (cut) {
    case AnyCut::replicated:
    case AnyCut::whole_blocks:
      return dtensor::Placement::replicated;
    case AnyCut::hybrid:
    case AnyCut::node_columns:
      return dtensor::Placement::hybrid;
    default:
      return dtensor::Placement::sharded;
  }
}

/// A scalar has no dimension to cut: it is cut evenly instead.
inline dtensor::DTensor cut_tensor(const comm::Ranks& ranks, std::string name, Shape shape,
                                   DType dtype, AnyCut cut) {
  dtensor::DTensor tensor;
  tensor.spec.name = std::move(name);
  tensor.spec.global_shape = std::move(shape);
  tensor.spec.dtype = dtype;
  const Shape& global = tensor.spec.global_shape;
  if (cut >= AnyCut::rows && cut != AnyCut::whole_blocks && global.extents().empty()) {
    cut = AnyCut::even;
  }
  tensor.spec.placement = placement_of_cut(cut);
  if (cut >= AnyCut::rows) {
    tensor.spec.block = dtensor::shard_block(global, mesh_dims(cut, global, ranks));
    tensor.spec.numel = tensor.spec.block->numel();
  } else {
    const dtensor::FlatRange range = cut_range(static_cast<Cut>(cut), global.numel(), ranks);
    tensor.spec.offset = range.first;
    tensor.spec.numel = range.numel;
  }
  tensor.local = Tensor::zeros(Shape{tensor.spec.numel}, dtype);
  return tensor;
}

/// Position in the whole tensor of the element that lies at `at` in a rank's memory.
inline std::int64_t global_position(const dtensor::ShardSpec& spec, std::int64_t at) {
  if (!spec.block) {
    return spec.offset + at;
  }
  std::int64_t position = 0;
  std::int64_t stride = 1;
  for (std::size_t d = spec.block->count.size(); d-- > 0;) {
    position += (spec.block->start[d] + at % spec.block->count[d]) * stride;
    at /= spec.block->count[d];
    stride *= spec.global_shape.extents()[d];
  }
  return position;
}

inline void fill_cut(const dtensor::DTensor& tensor, std::uint64_t seed) {
  const auto width = static_cast<std::int64_t>(size_of(tensor.spec.dtype));
  for (std::int64_t i = 0; i < tensor.spec.numel; ++i) {
    const std::int64_t at = global_position(tensor.spec, i);
    for (std::int64_t byte = 0; byte < width; ++byte) {
      tensor.local.raw()[i * width + byte] = pattern(seed, at * width + byte);
    }
  }
}

inline std::int64_t wrong_bytes(const dtensor::DTensor& tensor, std::uint64_t seed) {
  const auto width = static_cast<std::int64_t>(size_of(tensor.spec.dtype));
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < tensor.spec.numel; ++i) {
    const std::int64_t at = global_position(tensor.spec, i);
    for (std::int64_t byte = 0; byte < width; ++byte) {
      count += tensor.local.raw()[i * width + byte] != pattern(seed, at * width + byte) ? 1 : 0;
    }
  }
  return count;
}

}  // namespace sherd::io::test
