#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/load/damage.hpp"
#include "io/load/read_chunks.hpp"
#include "sherd/comm/agree.hpp"

namespace sherd::io {

/// Digests of the fragments of all flat pieces, wherever they are read. Those of one piece join to
/// the piece's own.
class DigestTable {
 public:
  explicit DigestTable(std::size_t fragments) : mine_(fragments, kNotRead) {}

  void set(std::size_t fragment, std::uint32_t crc) { mine_.at(fragment) = crc; }

  /// Collective. The first piece on whose fragments readers differ, or that differs from its
  /// digest: the same on all ranks.
  [[nodiscard]] std::optional<Damage> find_problem(const comm::Ranks& ranks,
                                                   std::span<const LoadItem> items,
                                                   const Manifest& manifest) const;

 private:
  static constexpr std::int64_t kNotRead = -(std::int64_t{1} << 40);

  std::vector<std::int64_t> mine_;
};

/// Digests of what this rank reads of one list of chunks.
class ChunkDigests {
 public:
  /// Both must outlive this.
  ChunkDigests(const ReadList& list, std::span<const LoadItem> items);

  /// Thread-safe for different chunks.
  void take(std::size_t chunk, std::span<const std::byte> bytes);
  /// After all: checks parts of blocks, hands the others on. Throws DamagedError.
  void finish(DigestTable& table, const Manifest& manifest) const;

 private:
  void finish(const Fragment& fragment, std::uint32_t crc, DigestTable& table,
              const Manifest& manifest) const;

  const ReadList& list_;
  std::span<const LoadItem> items_;
  std::vector<std::uint32_t> crcs_;  // by slice
  std::vector<char> taken_;          // by chunk
};

/// "tensor 'k' of rank 2 in shards/node-00000.h5 does not match its crc32c"
[[nodiscard]] std::string digest_problem(const TensorRecord& tensor, const PieceRecord& piece,
                                         const Manifest& manifest);

}  // namespace sherd::io
