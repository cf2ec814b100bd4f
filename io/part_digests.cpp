#include "io/part_digests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "io/crc32c.hpp"

namespace sherd::io {
namespace {

void list_piece(const TensorLayout& tensor, ReadPart part, std::vector<ReadPart>& parts) {
  const std::size_t first = parts.size();
  for (std::size_t rank = 0; rank < tensor.held.size(); ++rank) {
    part.range = dtensor::intersect(tensor.held[rank], {part.piece->first, part.piece->numel});
    if (part.range.numel > 0) {
      part.rank = static_cast<int>(rank);
      part.replica = tensor.replica[rank];
      parts.push_back(part);
    }
  }
  std::sort(parts.begin() + static_cast<std::ptrdiff_t>(first), parts.end(),
            [](const ReadPart& a, const ReadPart& b) {
              return std::tie(a.replica, a.range.first) < std::tie(b.replica, b.range.first);
            });
}

}  // namespace

std::vector<ReadPart> list_parts(const StateLayout& layout,
                                 const std::vector<const TensorRecord*>& records) {
  std::vector<ReadPart> parts;
  for (std::size_t i = 0; i < layout.tensors.size(); ++i) {
    if (layout.tensors[i].facts.placement == dtensor::Placement::replicated) {
      continue;
    }
    for (const PieceRecord& piece : records[i]->pieces) {
      list_piece(layout.tensors[i], {i, &piece, 0, 0, {}, 0}, parts);
    }
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].digest = i;
  }
  return parts;
}

std::optional<std::string> compare_digests(const std::vector<ReadPart>& parts,
                                           const std::vector<const TensorRecord*>& records,
                                           const std::vector<std::int64_t>& digests,
                                           const Manifest& manifest) {
  for (std::size_t i = 0; i < parts.size();) {
    const ReadPart& first = parts[i];
    const TensorRecord& tensor = *records[first.tensor];
    std::uint32_t crc = 0;
    std::size_t end = i;
    for (; end < parts.size() && parts[end].piece == first.piece &&
           parts[end].tensor == first.tensor && parts[end].replica == first.replica;
         ++end) {
      const std::uint64_t bytes =
          static_cast<std::uint64_t>(parts[end].range.numel) * size_of(tensor.dtype);
      crc = crc32c_combine(crc, static_cast<std::uint32_t>(digests[end]), bytes);
    }
    if (crc != first.piece->crc32c) {
      return digest_problem(tensor, *first.piece, manifest);
    }
    i = end;
  }
  return std::nullopt;
}

std::string digest_problem(const TensorRecord& tensor, const PieceRecord& piece,
                           const Manifest& manifest) {
  return fmt::format("tensor '{}' of rank {} in '{}' does not match its crc32c", tensor.key,
                     piece.rank, manifest.files[piece.file].name);
}

}  // namespace sherd::io
