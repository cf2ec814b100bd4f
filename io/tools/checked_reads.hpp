#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "io/format/checkpoint_files.hpp"
#include "io/format/manifest.hpp"

namespace sherd::io {

/// Parts of pieces, each byte compared with a digest before it is handed out. A piece that was
/// saved as a range has one digest: its first read goes through all of it once, and keeps the
/// digests of its parts. Thread-safe.
class CheckedReads {
 public:
  /// Both must outlive the object.
  CheckedReads(const CheckpointFiles& files, const Manifest& manifest)
      : files_(files), manifest_(manifest) {}

  /// Bytes of `piece` from `offset` on. Throws DamagedError that names tensor, rank and file.
  void read(const TensorRecord& tensor, const PieceRecord& piece, std::uint64_t offset,
            std::span<std::byte> out);

 private:
  using Parts = std::vector<std::uint32_t>;
  struct Kept {
    std::uint64_t part = 0;
    std::vector<std::byte> bytes;
  };

  const Parts& parts_of(const TensorRecord& tensor, const PieceRecord& piece, std::uint64_t bytes);
  void read_part(const TensorRecord& tensor, const PieceRecord& piece, std::uint64_t part,
                 std::uint32_t expected, std::span<std::byte> out) const;

  const CheckpointFiles& files_;
  const Manifest& manifest_;
  std::mutex mutex_;
  std::map<const PieceRecord*, Parts> parts_;
  std::map<const PieceRecord*, Kept> kept_;
};

}  // namespace sherd::io
