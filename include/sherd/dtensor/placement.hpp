#pragma once

#include <cstdint>

namespace sherd::dtensor {

/// How a tensor lies over the ranks of a mesh, from not cut at all to cut into one part a rank. The
/// first names say what a checkpoint or an optimizer sees, the second ones (the same values) how
/// far a sharding strategy cuts.
enum class Placement : std::uint8_t {
  replicated,  ///< every rank holds all of it
  hybrid,      ///< every element is held by equally many ranks; their parts are equal or apart
  sharded,     ///< every element is held by exactly one rank
  whole = replicated,
  node = hybrid,  ///< over the ranks of each node, on every node alike
  world = sharded
};

}  // namespace sherd::dtensor
