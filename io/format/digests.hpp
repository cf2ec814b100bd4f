#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/format/manifest.hpp"
#include "io/format/template.hpp"

namespace sherd::io {

/// Extents of one file that one digest covers, in the order it does.
struct DigestItem {
  std::size_t file = 0;
  std::vector<Extent> extents;
  std::uint32_t expected = 0;
  const TensorRecord* tensor = nullptr;
  const PieceRecord* piece = nullptr;
  std::string what;  ///< "tensor 'a' of rank 1 in 'shards/node-00000.h5'"
};

/// All digests of a checkpoint: those of each file cover every byte of it just once.
[[nodiscard]] std::vector<DigestItem> list_digests(const Manifest& manifest);

}  // namespace sherd::io
