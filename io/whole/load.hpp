#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "io/whole/file.hpp"
#include "sherd/dtensor/state_dict.hpp"
#include "sherd/io/load_options.hpp"

namespace sherd::io {

/// Where one tensor of a state comes from.
struct WholeMatch {
  const WholeTensor* stored = nullptr;
  dtensor::DTensor* tensor = nullptr;
};

/// Pairs the state's tensors with the file's by any of their names; notes differences and casts in
/// the report. Throws ConfigError naming the first differences that `options` do not allow: the
/// same on all ranks. Local.
[[nodiscard]] std::vector<WholeMatch> match_whole(const WholeFile& whole, dtensor::StateDict& state,
                                                  const LoadOptions& options,
                                                  const std::filesystem::path& file,
                                                  LoadReport& report);

/// Reads what this rank holds of each; returns the bytes read. Throws IoError. Local.
std::int64_t read_whole(const std::filesystem::path& file, const std::vector<WholeMatch>& matches);

}  // namespace sherd::io
