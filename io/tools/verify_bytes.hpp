#pragma once

#include <filesystem>
#include <vector>

#include "io/format/manifest.hpp"
#include "sherd/io/inspect.hpp"

namespace sherd::io {

/// Reads what the items cover with several threads and compares. Files that cannot be opened or
/// have another size are problems of their own; `sound[file]` becomes false for every file with a
/// problem of its own or in its structure. `bytes` counts what was read.
[[nodiscard]] std::vector<VerifyProblem> verify_bytes(const std::filesystem::path& folder,
                                                      const Manifest& manifest,
                                                      const VerifyOptions& options,
                                                      std::vector<bool>& sound,
                                                      std::uint64_t& bytes);

}  // namespace sherd::io
