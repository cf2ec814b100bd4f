#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "sherd/comm/agree.hpp"
#include "sherd/io/checkpointer.hpp"

namespace sherd::io {

/// Who loads together.
struct LoadRanks {
  comm::Ranks all;
  /// This rank's node, ranks numbered by local index; null: nothing is read for each other.
  comm::Communicator* node = nullptr;
};

/// Collective. Throws ArgumentError on all ranks when they want different things.
void agree_on_load(const comm::Ranks& ranks, const dtensor::StateDict& state,
                   const LoadOptions& options);

/// Collective. Loads one committed step folder into `state`. Returns what is damaged about it (the
/// same text on all ranks; tensors may be overwritten in part then), nullopt when all is well and
/// the report is filled in. Throws ConfigError, ArgumentError or IoError on all ranks; `state` is
/// untouched after the first two.
[[nodiscard]] std::optional<std::string> try_load(const LoadRanks& ranks,
                                                  const std::filesystem::path& folder,
                                                  dtensor::StateDict& state,
                                                  const LoadOptions& options, LoadReport& report);

}  // namespace sherd::io
