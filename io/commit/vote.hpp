#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/disk/file_system.hpp"
#include "io/format/manifest.hpp"

namespace sherd::io {

/// What a rank says about its part of a save once the data is durable (or could not be made so).
struct Vote {
  int rank = 0;
  std::string uuid;
  bool ok = true;
  std::string error;
  std::vector<std::uint32_t> crc32c;  ///< of the rank's datasets, by item number
  /// PieceRecord::parts_crc32c of those that are blocks, by item number.
  std::vector<std::vector<std::uint32_t>> parts_crc32c;
  RankTiming timing;
};

[[nodiscard]] std::filesystem::path vote_path(const std::filesystem::path& step_folder, int rank);

/// Durable once it returns. A failed vote that cannot be written leaves at least an empty file.
void cast_vote(FileSystem& fs, const std::filesystem::path& step_folder, const Vote& vote);

/// nullopt while there is none. A vote of another save (uuid) counts as none. Throws IoError when
/// it cannot be read: what is there but damaged is not the same as nothing.
[[nodiscard]] std::optional<Vote> find_vote(const std::filesystem::path& step_folder, int rank,
                                            const std::string& uuid);

}  // namespace sherd::io
