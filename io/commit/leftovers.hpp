#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/disk/file_system.hpp"

namespace sherd::io {

/// Finishes or removes what interrupted programs left in a checkpoint directory. A folder in flight
/// that every rank voted for is committed; another one is deleted, unless its writer still runs on
/// this machine, or was on another one and has changed something in the last hour, or what it holds
/// cannot be read. Folders whose names hold no uuid are nobody's and stay. Returns one line for
/// each folder in flight whose fate is news. Rank 0.
[[nodiscard]] std::vector<std::string> clean_up(FileSystem& fs,
                                                const std::filesystem::path& directory);

}  // namespace sherd::io
