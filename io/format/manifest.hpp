#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/format/lineage.hpp"
#include "io/format/rank_timing.hpp"
#include "sherd/base/dtype.hpp"
#include "sherd/dtensor/shard_spec.hpp"
#include "sherd/tensor/shape.hpp"

namespace sherd::io {

struct FileRecord {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint32_t structure_crc32c = 0;  ///< of all bytes of no piece, blob or meta field
};

/// A stretch of a tensor in a file.
struct PieceRecord {
  int rank = 0;
  std::size_t file = 0;  ///< index into Manifest::files
  std::uint64_t file_offset = 0;
  std::int64_t first = 0;  ///< 0 for a block
  std::int64_t numel = 0;
  std::uint32_t crc32c = 0;
  /// Of a tensor that was saved in blocks: which one this is, row-major in the file.
  std::optional<dtensor::Block> block = std::nullopt;
  /// Of a block: digest of each kDigestBytes of it, so that a part can be checked by itself.
  std::vector<std::uint32_t> parts_crc32c = {};
};

/// How much of a block one of its digests covers; the last covers less.
constexpr std::uint64_t kDigestBytes = std::uint64_t{1} << 20;

struct TensorRecord {
  std::string key;
  std::string name;
  Shape shape;
  DType dtype = DType::f32;
  dtensor::Placement placement = dtensor::Placement::sharded;
  bool requires_grad = true;
  std::vector<std::string> aliases;  ///< whole keys
  std::vector<PieceRecord> pieces;   ///< in element order; blocks by rank
};

struct BlobRecord {
  std::string key;
  int rank = 0;
  std::size_t file = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
};

/// A field of index.h5 below /meta whose value changes from save to save.
struct MetaRecord {
  std::string key;
  std::uint64_t file_offset = 0;
  std::uint64_t bytes = 0;     ///< of the value; of a text without the NUL
  std::uint64_t capacity = 0;  ///< of the field: zeros follow the value
  std::uint32_t crc32c = 0;    ///< of the whole field
};

/// COMMITTED.json: what a checkpoint consists of, enough to load it without HDF5.
struct Manifest {
  std::int64_t step = 0;
  int world_size = 1;
  std::string uuid;
  Lineage lineage;
  std::string host;  ///< of the process that writes this file
  std::int64_t pid = 0;
  std::int64_t started = 0;       ///< that process, in ticks (process_start())
  std::vector<FileRecord> files;  ///< index.h5 first
  std::vector<TensorRecord> tensors;
  std::vector<BlobRecord> blobs;
  std::vector<MetaRecord> texts;  ///< StateDict::common
  std::vector<MetaRecord> own;    ///< "step" (int64), "timing" (JSON)
  std::vector<RankTiming> timing;
};

/// JSON with a crc32c of itself.
[[nodiscard]] std::string to_json(const Manifest& manifest);
/// Throws IoError when the text is not a manifest, is damaged or of a newer version; `where` is
/// named in the message.
[[nodiscard]] Manifest parse_manifest(std::string_view text, const std::filesystem::path& where);
[[nodiscard]] Manifest read_manifest(const std::filesystem::path& file);

}  // namespace sherd::io
