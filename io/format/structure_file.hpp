#pragma once

#include <filesystem>

#include "io/disk/file_system.hpp"
#include "io/format/template.hpp"

namespace sherd::io {

/// Makes the file of a template. Its space is reserved where the file system can, so that a full
/// disk is found out early, and others may write to it once it has its final size. Throws IoError.
void write_structure(FileSystem& fs, const std::filesystem::path& path, const FileTemplate& file);

}  // namespace sherd::io
