#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "io/load/read_list.hpp"

/// Fragments packed into stretches of the files that are read in one go.
namespace sherd::io {

/// Memory of one read.
constexpr std::size_t kReadBytes = std::size_t{4} << 20;

/// Whole elements of one fragment in a chunk.
struct ReadSlice {
  std::size_t fragment = 0;  ///< index into ReadList::fragments
  dtensor::FlatRange part;   ///< elements, from the piece's beginning
  std::size_t at = 0;        ///< where in the chunk, in bytes
  std::size_t bytes = 0;
};

struct ReadChunk {
  std::size_t file = 0;
  std::uint64_t offset = 0;
  std::size_t bytes = 0;  ///< at most kReadBytes
  std::size_t first_slice = 0;
  std::size_t slices = 0;
};

struct ReadList {
  std::vector<Fragment> fragments;  ///< by file and offset
  std::vector<ReadSlice> slices;    ///< in the same order, those of one fragment side by side
  std::vector<ReadChunk> chunks;

  [[nodiscard]] std::span<const ReadSlice> slices_of(const ReadChunk& chunk) const {
    return std::span(slices).subspan(chunk.first_slice, chunk.slices);
  }
};

/// Fragments of up to kDigestBytes lie in one chunk; longer ones are cut where a page ends.
/// What lies between fragments is read too where it is short.
[[nodiscard]] ReadList pack_chunks(std::vector<Fragment> fragments,
                                   std::span<const LoadItem> items);

/// 0 .. count - 1, beginning `share` of `shares` further on: ranks that need the same files begin
/// at different ones.
[[nodiscard]] std::vector<std::size_t> staggered(std::size_t count, int share, int shares);

}  // namespace sherd::io
