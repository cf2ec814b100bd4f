#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/agreement.hpp"
#include "sherd/io/checkpointer.hpp"

namespace sherd::io {

/// Collective. Loads one committed step folder into `state`. Returns what is damaged about it (the
/// same text on all ranks; `state` is untouched then), nullopt when all is well. Notes go to
/// `notes`. Throws ConfigError, ArgumentError or IoError on all ranks.
[[nodiscard]] std::optional<std::string> try_load(const Ranks& ranks,
                                                  const std::filesystem::path& folder,
                                                  dtensor::StateDict& state,
                                                  std::vector<std::string>& notes);

}  // namespace sherd::io
