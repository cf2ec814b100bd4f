#pragma once

#include <cstdint>
#include <vector>

#include "io/save/chunks.hpp"
#include "io/save/stage_sources.hpp"

namespace sherd::io {

/// Digests of one rank's datasets, by item number.
struct ItemDigests {
  std::vector<std::uint32_t> whole;
  std::vector<std::vector<std::uint32_t>> parts;  ///< of blocks only: each kDigestBytes
};

/// Copies chunks to staging memory and takes digests of what was copied. `layout` and `plan` must
/// outlive it.
class Stager {
 public:
  Stager(const StateLayout& layout, const StagingPlan& plan, StageSources sources);

  /// To memory_of(chunk) bytes of whole pages at `to`. Returns where the chunk begins there.
  const std::byte* copy(const Chunk& chunk, std::byte* to);
  /// Without copying; of items in host memory alone.
  void take_digests(const Chunk& chunk);
  [[nodiscard]] const StageSources& sources() const noexcept { return sources_; }
  /// Once all chunks are copied.
  [[nodiscard]] ItemDigests digests();
  /// Of one part of a chunk; after digests().
  [[nodiscard]] std::uint32_t digest(const ChunkPart& part) const;
  /// Spent in copy().
  [[nodiscard]] double seconds() const noexcept { return seconds_; }

 private:
  /// The digest of a stretch of an item that lies within one multiple of kDigestBytes.
  struct Stretch {
    std::uint64_t from = 0;
    std::uint64_t bytes = 0;
    std::uint32_t crc32c = 0;
  };
  void take_part(const ChunkPart& part, std::byte* to);
  [[nodiscard]] std::vector<std::uint32_t> digests_of_parts(std::size_t item);

  const StateLayout& layout_;
  const StagingPlan& plan_;
  StageSources sources_;
  std::vector<std::vector<Stretch>> stretches_;  // by item
  double seconds_ = 0;
};

}  // namespace sherd::io
