#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/agreement.hpp"
#include "io/manifest.hpp"
#include "io/state_layout.hpp"

namespace sherd::io {

/// A part of a stored piece that one loading rank reads. The parts of one replica make up the
/// piece.
struct ReadPart {
  std::size_t tensor = 0;  ///< index into the state's tensors
  const PieceRecord* piece = nullptr;
  int replica = 0;
  int rank = 0;
  dtensor::FlatRange range;
  std::size_t digest = 0;  ///< index of its crc32c
};

/// Who reads what of every tensor that is not replicated, in order of tensor, piece, replica and
/// element: the same list on all ranks. `records` is parallel to layout.tensors.
[[nodiscard]] std::vector<ReadPart> list_parts(const StateLayout& layout,
                                               const std::vector<const TensorRecord*>& records);

/// Joins the parts' digests to those of the whole pieces. Returns the first piece that differs.
[[nodiscard]] std::optional<std::string> compare_digests(
    const std::vector<ReadPart>& parts, const std::vector<const TensorRecord*>& records,
    const std::vector<std::int64_t>& digests, const Manifest& manifest);

/// "tensor 'k' of rank 2 in shards/node-00000.h5 does not match its crc32c"
[[nodiscard]] std::string digest_problem(const TensorRecord& tensor, const PieceRecord& piece,
                                         const Manifest& manifest);

}  // namespace sherd::io
