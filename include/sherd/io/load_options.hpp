#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sherd::io {

/// What to do with per_rank entries (random streams, loader positions) when another number of ranks
/// saved them.
enum class PerRank : std::uint8_t {
  refuse,   ///< ConfigError: neither choice below may be right
  keep,     ///< the state's own stay as they are; the report says so
  by_rank,  ///< a rank that existed then gets its own again; the others keep theirs
};

struct LoadOptions {
  /// Tensors must match in both directions, and the state's per_rank entries must be there. When
  /// false, tensors of the checkpoint that the state lacks are ignored, and what the state has in
  /// addition or in another shape keeps its values; all are reported. A load that would fill no
  /// tensor at all is an error even so.
  bool strict = true;
  /// Tensors of another floating-point dtype are converted (to the nearest, ties to even). A
  /// difference of dtype is an error otherwise, strict or not.
  bool allow_cast = false;
  /// Loads only tensors and per_rank entries whose key this returns true for; the rest of state and
  /// checkpoint is left alone and is no difference. Common texts are always loaded. Empty: all. It
  /// must give the same answers on all ranks.
  std::function<bool(const std::string& key)> select = {};
  PerRank per_rank = PerRank::refuse;
  /// Compare every byte read, and the structure of the files, with its digest.
  bool verify = true;
  /// load_latest(): a checkpoint that cannot be read at the moment (no permission, a disk error) is
  /// passed over for an older one, and stays. Otherwise that is an error.
  bool older_if_unreadable = false;
};

/// A tensor that is there and here in two shapes or dtypes.
struct TensorMismatch {
  std::string key;
  std::string stored;  ///< "f32 [64, 64]"
  std::string wanted;
};

/// What load() did and found, the same on all ranks. missing, unexpected and mismatched are empty
/// when strict.
struct LoadReport {
  std::int64_t step = 0;
  std::filesystem::path path;
  std::vector<std::string> notes;       ///< checkpoints passed over and why, entries ignored
  std::vector<std::string> missing;     ///< wanted keys that the checkpoint lacks
  std::vector<std::string> unexpected;  ///< its keys that are not wanted
  std::vector<TensorMismatch> mismatched;
  std::vector<TensorMismatch> cast;  ///< converted on the way
  int saved_by_ranks = 0;
  std::uint64_t bytes_read = 0;  ///< of tensors and per-rank data, by all ranks
  double seconds = 0;            ///< the slowest rank's

  /// An object with the members' names.
  [[nodiscard]] std::string to_json() const;
};

}  // namespace sherd::io
