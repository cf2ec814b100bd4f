#pragma once

#include <filesystem>
#include <vector>

#include "io/format/manifest.hpp"
#include "sherd/io/inspect.hpp"

namespace sherd::io {

/// Looks at index.h5 with HDF5: each tensor and each of its aliases has the shape and type of the
/// manifest and is made of just its pieces, at the places where the files have them. Files whose
/// `sound` is false are not opened; index.h5 must be sound. The caller
/// holds HDF5's Section.
[[nodiscard]] std::vector<VerifyProblem> verify_index(const std::filesystem::path& folder,
                                                      const Manifest& manifest,
                                                      const std::vector<bool>& sound);

}  // namespace sherd::io
