#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "io/disk/file_system.hpp"
#include "io/disk/process_identity.hpp"

/// writer.json in a folder in flight: the process that began the save. It tells a running save from
/// an interrupted one.
namespace sherd::io {

/// Not synced: after a power loss nobody runs.
void write_mark(FileSystem& fs, const std::filesystem::path& folder, const std::string& uuid);

/// nullopt when there is none, or none of the save `uuid`.
[[nodiscard]] std::optional<ProcessIdentity> read_mark(const std::filesystem::path& folder,
                                                       const std::string& uuid);

void remove_mark(const std::filesystem::path& folder) noexcept;

}  // namespace sherd::io
