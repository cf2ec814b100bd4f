#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sherd/base/dtype.hpp"
#include "sherd/dtensor/block.hpp"
#include "sherd/dtensor/sharded_parameters.hpp"
#include "sherd/tensor/shape.hpp"

namespace sherd::dtensor {

/// How a tensor lies over the ranks of a mesh.
enum class Placement : std::uint8_t {
  sharded,    ///< every element is held by exactly one rank
  hybrid,     ///< every element is held by equally many ranks; their parts are equal or apart
  replicated  ///< every rank holds all of it
};

/// What an optimizer's view of a shard says in these terms.
[[nodiscard]] constexpr Placement placement_of(Holders holders) noexcept {
  switch (holders) {
    case Holders::one:
      return Placement::sharded;
    case Holders::per_node:
      return Placement::hybrid;
    case Holders::all:
      break;
  }
  return Placement::replicated;
}

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
