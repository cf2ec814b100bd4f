#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sherd/tensor/shape.hpp"

namespace sherd::dtensor {

/// A block of a row-major array: `count[d]` elements from `start[d]` on in each dimension.
struct Block {
  std::vector<std::int64_t> start;
  std::vector<std::int64_t> count;

  /// Product of the counts; 1 for a 0-d block.
  [[nodiscard]] std::int64_t numel() const noexcept;
  friend bool operator==(const Block&, const Block&) = default;
};

/// What two blocks of one array share; a count of zero somewhere when nothing.
[[nodiscard]] Block intersect(const Block& a, const Block& b);

/// What one dimension of a device mesh does to a tensor: cuts dimension `shard` of it, or, when
/// that is negative, holds a replica on each of its ranks.
struct MeshDim {
  int size = 1;    ///< ranks along this mesh dimension
  int coord = 0;   ///< this rank's place among them
  int shard = -1;  ///< Shard(dim), or replicated
};

/// The block a rank holds when the mesh dimensions cut a tensor one after the other. A dimension of
/// n elements is cut into chunks of ceil(n / size), as torch.chunk does: the last ones may be
/// shorter or empty. Throws ArgumentError for coordinates or dimensions that do not exist.
[[nodiscard]] Block shard_block(const Shape& global_shape, std::span<const MeshDim> mesh);

}  // namespace sherd::dtensor
