#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/format/manifest.hpp"
#include "io/load/name_match.hpp"
#include "sherd/dtensor/state_dict.hpp"
#include "sherd/io/load_options.hpp"

namespace sherd::io {

/// A tensor of a state, counted in key order, and the record it is loaded from.
struct MatchedTensor {
  std::size_t tensor = 0;
  const TensorRecord* record = nullptr;
};

/// Pairs the tensors that `options` select; a key may be any name of a stored tensor. Differences
/// that the options allow go to the report, with a note. Throws ConfigError ("a checkpoint of
/// another model") naming the first others. Local; the same on all ranks.
[[nodiscard]] std::vector<MatchedTensor> match_tensors(const Manifest& manifest,
                                                       const dtensor::StateDict& state,
                                                       const LoadOptions& options,
                                                       const std::filesystem::path& folder,
                                                       LoadReport& report);

/// By key or alias; null when there is none.
[[nodiscard]] const TensorRecord* find_tensor(const Manifest& manifest, std::string_view key);

/// Throws ConfigError: "'folder' is a checkpoint of another model: ..." with the first problems.
[[noreturn]] void refuse_model(std::vector<std::string> problems,
                               const std::filesystem::path& folder);

}  // namespace sherd::io
