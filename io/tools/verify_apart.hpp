#pragma once

#include <filesystem>
#include <vector>

#include "io/format/manifest.hpp"
#include "sherd/io/inspect.hpp"

namespace sherd::io {

/// verify_index() in a child process: HDF5 ends the process on some files whose digests hold, and
/// that would be the end of a tool, or of a training. A child that dies is a problem of index.h5.
/// Where no process can be made, in this one.
[[nodiscard]] std::vector<VerifyProblem> verify_index_apart(const std::filesystem::path& folder,
                                                            const Manifest& manifest,
                                                            const std::vector<bool>& sound);

}  // namespace sherd::io
