// Which bytes of a checkpoint which digest covers: the manifest read as a list.
#include "io/format/digests.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sherd::io {
namespace {

void list_pieces(const Manifest& manifest, std::vector<DigestItem>& items) {
  for (const TensorRecord& tensor : manifest.tensors) {
    for (const PieceRecord& piece : tensor.pieces) {
      const std::uint64_t bytes = static_cast<std::uint64_t>(piece.numel) * size_of(tensor.dtype);
      items.push_back({piece.file,
                       {{piece.file_offset, bytes}},
                       piece.crc32c,
                       &tensor,
                       &piece,
                       fmt::format("tensor '{}' of rank {} in '{}'", tensor.key, piece.rank,
                                   manifest.files[piece.file].name)});
    }
  }
}

void list_fields(const Manifest& manifest, std::vector<DigestItem>& items) {
  for (const BlobRecord& blob : manifest.blobs) {
    if (blob.bytes > 0) {
      items.push_back({blob.file,
                       {{blob.file_offset, blob.bytes}},
                       blob.crc32c,
                       nullptr,
                       nullptr,
                       fmt::format("per-rank data '{}' of rank {} in '{}'", blob.key, blob.rank,
                                   manifest.files[blob.file].name)});
    }
  }
  for (const auto* list : {&manifest.texts, &manifest.own}) {
    for (const MetaRecord& field : *list) {
      items.push_back(
          {0,
           {{field.file_offset, field.capacity}},
           field.crc32c,
           nullptr,
           nullptr,
           fmt::format("'/meta' field '{}' in '{}'", field.key, manifest.files[0].name)});
    }
  }
}

}  // namespace

std::vector<DigestItem> list_digests(const Manifest& manifest) {
  std::vector<DigestItem> items;
  list_pieces(manifest, items);
  list_fields(manifest, items);
  std::vector<std::vector<Extent>> covered(manifest.files.size());
  for (const DigestItem& item : items) {
    covered[item.file].push_back(item.extents.front());
  }
  for (std::size_t file = 0; file < covered.size(); ++file) {
    std::sort(covered[file].begin(), covered[file].end(),
              [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
    const FileRecord& record = manifest.files[file];
    items.push_back({file, gaps_between(covered[file], record.bytes), record.structure_crc32c,
                     nullptr, nullptr, fmt::format("the HDF5 structure of '{}'", record.name)});
  }
  return items;
}

}  // namespace sherd::io
