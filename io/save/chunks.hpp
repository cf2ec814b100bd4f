#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "io/format/placed_dataset.hpp"
#include "io/layout/state_layout.hpp"

namespace sherd::io {

/// A stretch of one dataset inside a chunk.
struct ChunkPart {
  std::size_t item = 0;
  std::uint64_t from = 0;  ///< byte of this rank's data of the item
  std::uint64_t at = 0;    ///< byte of the chunk
  std::uint64_t bytes = 0;
};

/// A stretch of the file that is copied and written as a whole. Bytes that belong to no part are
/// zero.
struct Chunk {
  std::uint64_t file_offset = 0;
  std::uint64_t bytes = 0;
  std::vector<ChunkPart> parts;  ///< by position
};

/// In which pieces, and in which order, a rank's data is copied to staging memory and written.
/// Chunks end at multiples of their size in the file, so that direct I/O can take them whole.
struct StagingPlan {
  struct GroupEnd {
    int group = 0;
    std::size_t chunks = 0;  ///< so many from the front hold all tensors up to this group
  };

  std::vector<Chunk> chunks;         ///< by stage group, within one by file offset
  std::vector<GroupEnd> group_ends;  ///< ascending
  std::vector<std::size_t> items;    ///< of this rank, ascending
  std::uint64_t bytes = 0;           ///< of the data
  std::uint64_t memory = 0;          ///< that holds all chunks at once

  /// How many chunks must be copied before groups up to `group` may change.
  [[nodiscard]] std::size_t chunks_up_to(int group) const noexcept;
};

/// `mine` are this rank's datasets by file offset. `chunk_bytes` is a multiple of 4096.
[[nodiscard]] StagingPlan plan_staging(const StateLayout& layout,
                                       std::span<const PlacedDataset> mine,
                                       std::uint64_t chunk_bytes);

/// Memory a chunk takes: it begins at its file offset modulo 4096 there.
[[nodiscard]] std::uint64_t memory_of(const Chunk& chunk) noexcept;

}  // namespace sherd::io
