#pragma once

#include <filesystem>
#include <optional>

#include "io/disk/file_system.hpp"
#include "io/load/loader.hpp"

namespace sherd::io {

/// Collective. Loads the newest good checkpoint of `directory` into `state`: of the line that was
/// saved last, the highest step whose digests hold. What is damaged is set aside once another rank
/// has read it again. Returns what was loaded; nullopt when nothing was ever committed there.
/// Throws on all ranks: IoError when nothing good is left, when a checkpoint cannot be read (unless
/// the options say to take an older one) or when the ranks see different checkpoints.
[[nodiscard]] std::optional<LoadedFrom> load_newest(const LoadRanks& ranks, FileSystem& fs,
                                                    const std::filesystem::path& directory,
                                                    dtensor::StateDict& state,
                                                    const LoadOptions& options, LoadReport& report);

}  // namespace sherd::io
