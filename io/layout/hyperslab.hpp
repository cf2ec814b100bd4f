#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sherd/dtensor/block.hpp"
#include "sherd/dtensor/flat_range.hpp"

namespace sherd::io {

using Box = dtensor::Block;

/// The flat element range as disjoint boxes in ascending order: at most 2 * rank - 1 of them. Empty
/// for an empty range. `extents` has at least one dimension.
[[nodiscard]] std::vector<Box> boxes_of(std::span<const std::int64_t> extents,
                                        dtensor::FlatRange range);

}  // namespace sherd::io
