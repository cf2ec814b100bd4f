#include "io/tools/checked_reads.hpp"

#include <algorithm>

#include "io/disk/crc32c.hpp"
#include "io/disk/damaged.hpp"
#include "io/load/part_digests.hpp"

namespace sherd::io {
namespace {

/// A reader that goes along the rows of a tensor saved in blocks is inside as many pieces at once.
constexpr std::size_t kMostKept = 64;

std::uint64_t part_bytes(std::uint64_t part, std::uint64_t piece_bytes) {
  return std::min(kDigestBytes, piece_bytes - part * kDigestBytes);
}

}  // namespace

void CheckedReads::read(const TensorRecord& tensor, const PieceRecord& piece, std::uint64_t offset,
                        std::span<std::byte> out) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t bytes = static_cast<std::uint64_t>(piece.numel) * size_of(tensor.dtype);
  const Parts& parts = parts_of(tensor, piece, bytes);
  while (!out.empty()) {
    const std::uint64_t part = offset / kDigestBytes;
    const std::uint64_t inside = offset % kDigestBytes;
    const std::uint64_t whole = part_bytes(part, bytes);
    const std::size_t count = std::min<std::uint64_t>(out.size(), whole - inside);
    if (count == whole) {
      read_part(tensor, piece, part, parts.at(part), out.first(count));
    } else {
      if (kept_.size() >= kMostKept && kept_.count(&piece) == 0) {
        kept_.clear();
      }
      Kept& kept = kept_[&piece];
      if (kept.bytes.empty() || kept.part != part) {
        kept = {part, std::vector<std::byte>(whole)};
        read_part(tensor, piece, part, parts.at(part), kept.bytes);
      }
      std::copy_n(kept.bytes.begin() + static_cast<std::ptrdiff_t>(inside), count, out.begin());
    }
    out = out.subspan(count);
    offset += count;
  }
}

const CheckedReads::Parts& CheckedReads::parts_of(const TensorRecord& tensor,
                                                  const PieceRecord& piece, std::uint64_t bytes) {
  if (piece.block) {
    return piece.parts_crc32c;
  }
  const auto [known, fresh] = parts_.try_emplace(&piece);
  Parts& parts = known->second;
  if (!fresh && !parts.empty()) {
    return parts;
  }
  std::vector<std::byte> buffer(std::min(kDigestBytes, bytes));
  std::uint32_t crc = 0;
  for (std::uint64_t part = 0; part * kDigestBytes < bytes; ++part) {
    const std::span<std::byte> here(buffer.data(), part_bytes(part, bytes));
    files_[piece.file].read(piece.file_offset + part * kDigestBytes, here);
    parts.push_back(crc32c(here));
    crc = part == 0 ? parts.back() : crc32c_combine(crc, parts.back(), here.size());
  }
  if (crc != piece.crc32c) {
    parts.clear();
    throw DamagedError(digest_problem(tensor, piece, manifest_), manifest_.files[piece.file].name);
  }
  return parts;
}

void CheckedReads::read_part(const TensorRecord& tensor, const PieceRecord& piece,
                             std::uint64_t part, std::uint32_t expected,
                             std::span<std::byte> out) const {
  files_[piece.file].read(piece.file_offset + part * kDigestBytes, out);
  if (crc32c(out) != expected) {
    throw DamagedError(digest_problem(tensor, piece, manifest_), manifest_.files[piece.file].name);
  }
}

}  // namespace sherd::io
