#pragma once

#include <filesystem>
#include <vector>

namespace sherd::data {

/// All files below a folder in the order of their names, the same on every rank that sees the same
/// folder. Hidden names are left out. Links are followed; a file or folder that has been met under
/// another name is left out, so that links in a circle end. Throws ConfigError naming a folder that
/// cannot be read, or what is neither file nor folder, or that there is no file. Local.
[[nodiscard]] std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder);

}  // namespace sherd::data
