#include "sherd/dtensor/block.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sherd/base/error.hpp"

namespace sherd::dtensor {

std::int64_t Block::numel() const noexcept {
  std::int64_t product = 1;
  for (const std::int64_t extent : count) {
    product *= extent;
  }
  return product;
}

Block intersect(const Block& a, const Block& b) {
  Block shared = a;
  for (std::size_t d = 0; d < a.start.size(); ++d) {
    shared.start[d] = std::max(a.start[d], b.start[d]);
    const std::int64_t end = std::min(a.start[d] + a.count[d], b.start[d] + b.count[d]);
    shared.count[d] = std::max<std::int64_t>(0, end - shared.start[d]);
  }
  return shared;
}

Block shard_block(const Shape& global_shape, std::span<const MeshDim> mesh) {
  Block block{std::vector<std::int64_t>(global_shape.extents().size(), 0), global_shape.extents()};
  for (const MeshDim& dim : mesh) {
    if (dim.size <= 0 || dim.coord < 0 || dim.coord >= dim.size) {
      throw ArgumentError(
          fmt::format("coordinate {} of a mesh dimension of {} ranks", dim.coord, dim.size));
    }
    if (dim.shard < 0) {
      continue;
    }
    const auto d = static_cast<std::size_t>(dim.shard);
    if (d >= block.count.size()) {
      throw ArgumentError(
          fmt::format("Shard({}) of a tensor of {} dimensions", dim.shard, block.count.size()));
    }
    const std::int64_t chunk = (block.count[d] + dim.size - 1) / dim.size;
    const std::int64_t first = std::min(chunk * dim.coord, block.count[d]);
    block.start[d] += first;
    block.count[d] = std::min(chunk, block.count[d] - first);
  }
  return block;
}

}  // namespace sherd::dtensor
