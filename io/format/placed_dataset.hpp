#pragma once

#include <cstddef>

#include "io/format/template.hpp"

namespace sherd::io {

/// Where one rank's dataset of an item lies in its shard file.
struct PlacedDataset {
  int rank = 0;
  std::size_t item = 0;
  Extent extent;
  /// The next dataset in the file is the same rank's and only a few zeros lie between: both can be
  /// written by one call.
  bool joined_with_next = false;
};

}  // namespace sherd::io
