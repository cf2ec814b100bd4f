// Digests of pieces that several ranks read parts of: combined after all have read.
#include "io/load/part_digests.hpp"

#include <fmt/format.h>

#include "io/disk/crc32c.hpp"
#include "io/disk/positioned_reader.hpp"

namespace sherd::io {
namespace {

std::uint64_t bytes_of(const LoadItem& item, dtensor::FlatRange part) {
  return static_cast<std::uint64_t>(part.numel) * size_of(item.record->dtype);
}

/// Of the fragments of one piece, which begin at `first` in the table; nullopt where their readers
/// saw different bytes.
std::optional<std::uint32_t> join(const LoadItem& item, std::span<const dtensor::FlatRange> parts,
                                  std::span<const std::int64_t> highest,
                                  std::span<const std::int64_t> negated_lowest) {
  std::uint32_t crc = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (highest[i] != -negated_lowest[i]) {
      return std::nullopt;
    }
    const auto part = static_cast<std::uint32_t>(highest[i]);
    crc = i == 0 ? part : crc32c_combine(crc, part, bytes_of(item, parts[i]));
  }
  return crc;
}

}  // namespace

std::optional<Damage> DigestTable::find_problem(const comm::Ranks& ranks,
                                                std::span<const LoadItem> items,
                                                const Manifest& manifest) const {
  std::vector<std::int64_t> highest = mine_;
  std::vector<std::int64_t> negated_lowest = mine_;
  for (std::int64_t& crc : negated_lowest) {
    crc = crc == kNotRead ? kNotRead : -crc;
  }
  max_over_ranks(ranks, highest);
  max_over_ranks(ranks, negated_lowest);
  std::size_t at = 0;
  for (const LoadItem& item : items) {
    const PieceCutter cutter(item);
    for (const PieceRecord& piece : item.record->pieces) {
      if (piece.block) {
        continue;
      }
      const std::vector<dtensor::FlatRange> parts = cutter.cut(piece);
      const auto slots = [&](const std::vector<std::int64_t>& values) {
        return std::span(values).subspan(at, parts.size());
      };
      if (join(item, parts, slots(highest), slots(negated_lowest)) != piece.crc32c) {
        return Damage{digest_problem(*item.record, piece, manifest),
                      manifest.files[piece.file].name};
      }
      at += parts.size();
    }
  }
  return std::nullopt;
}

ChunkDigests::ChunkDigests(const ReadList& list, std::span<const LoadItem> items)
    : list_(list), items_(items), crcs_(list.slices.size(), 0), taken_(list.chunks.size(), 0) {}

void ChunkDigests::take(std::size_t chunk, std::span<const std::byte> bytes) {
  std::size_t number = list_.chunks[chunk].first_slice;
  for (const ReadSlice& slice : list_.slices_of(list_.chunks[chunk])) {
    crcs_[number++] = crc32c(bytes.subspan(slice.at, slice.bytes));
  }
  taken_[chunk] = 1;
}

void ChunkDigests::finish(DigestTable& table, const Manifest& manifest) const {
  const ReadSlice* last = nullptr;
  std::uint32_t crc = 0;
  for (std::size_t i = 0; i < list_.chunks.size(); ++i) {
    if (taken_[i] == 0) {
      continue;
    }
    std::size_t number = list_.chunks[i].first_slice;
    for (const ReadSlice& slice : list_.slices_of(list_.chunks[i])) {
      const bool goes_on = last != nullptr && last->fragment == slice.fragment;
      if (last != nullptr && !goes_on) {
        finish(list_.fragments[last->fragment], crc, table, manifest);
      }
      crc = goes_on ? crc32c_combine(crc, crcs_[number], slice.bytes) : crcs_[number];
      last = &slice;
      ++number;
    }
  }
  if (last != nullptr) {
    finish(list_.fragments[last->fragment], crc, table, manifest);
  }
}

void ChunkDigests::finish(const Fragment& fragment, std::uint32_t crc, DigestTable& table,
                          const Manifest& manifest) const {
  if (!fragment.piece->block) {
    table.set(fragment.digest, crc);
  } else if (fragment.piece->parts_crc32c.at(fragment.digest) != crc) {
    throw DamagedError(digest_problem(*items_[fragment.item].record, *fragment.piece, manifest),
                       manifest.files[fragment.piece->file].name);
  }
}

std::string digest_problem(const TensorRecord& tensor, const PieceRecord& piece,
                           const Manifest& manifest) {
  return fmt::format("tensor '{}' of rank {} in '{}' does not match its crc32c", tensor.key,
                     piece.rank, manifest.files[piece.file].name);
}

}  // namespace sherd::io
