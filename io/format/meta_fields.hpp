#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "io/disk/file_system.hpp"
#include "io/format/index_template.hpp"
#include "io/format/manifest.hpp"

/// The fields of index.h5 below /meta, whose places the template knows.
namespace sherd::io {

/// Records for a manifest, without sizes and digests of values.
void list_fields(const IndexTemplate& index, Manifest& manifest);

/// Writes step and texts into the open or created index.h5 of `folder`; sizes and digests go into
/// the manifest. What /meta/timing holds is zeros until write_timing(). Throws IoError.
void write_fields(FileSystem& fs, const std::filesystem::path& folder, Manifest& manifest,
                  const std::map<std::string, std::string>& texts);

/// Writes manifest.timing into the field and syncs the file. Throws IoError.
void write_timing(FileSystem& fs, const std::filesystem::path& folder, Manifest& manifest);

}  // namespace sherd::io
