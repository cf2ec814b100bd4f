#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sherd/base/dtype.hpp"
#include "sherd/dtensor/block.hpp"
#include "sherd/dtensor/placement.hpp"
#include "sherd/tensor/shape.hpp"

namespace sherd::dtensor {

/// What a rank knows of one distributed tensor: its whole metadata and the part it holds: elements
/// [offset, offset + numel) of the row-major global tensor, or, when `block` is set, a block of it.
struct ShardSpec {
  std::string name;  ///< fully qualified
  Shape global_shape;
  DType dtype = DType::f32;
  Placement placement = Placement::sharded;
  std::int64_t offset = 0;  ///< first element held here
  std::int64_t numel = 0;   ///< elements held here; zero is legal
  bool requires_grad = true;
  std::vector<std::string> aliases;  ///< other names of the same tensor (ties)
  /// Set on all ranks or on none: this rank holds these elements, row-major in its own memory;
  /// `offset` is 0 then and `numel` block->numel(). Any count may be zero.
  std::optional<Block> block = std::nullopt;
};

}  // namespace sherd::dtensor
