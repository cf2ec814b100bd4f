#pragma once

#include <cstdint>
#include <filesystem>

#include "io/disk/file_system.hpp"
#include "io/format/manifest.hpp"

namespace sherd::io {

/// Which committed checkpoints stay beside the newest.
struct Retention {
  int keep_last = 0;            ///< the newest so many, at least 2; 0: all
  std::int64_t keep_every = 0;  ///< and the steps divisible by it; 0: none
};

/// Deletes the committed checkpoints on the line of `just_saved` that `retention` does not keep,
/// the oldest first; never `just_saved`, nor one whose folder holds a file PINNED, nor what another
/// run has saved: copies, and steps that were given up when a run went on from an earlier one.
/// Deletes nothing unless `just_saved` is committed. Each goes out of sight by one rename before it
/// is deleted. Throws IoError.
void apply_retention(FileSystem& fs, const std::filesystem::path& directory,
                     const Retention& retention, const Manifest& just_saved);

}  // namespace sherd::io
