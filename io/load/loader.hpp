#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "io/format/lineage.hpp"
#include "io/load/damage.hpp"
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

/// The checkpoint that a load took its values from.
struct LoadedFrom {
  std::int64_t step = 0;
  std::string uuid = {};
  Lineage lineage = {};
};

/// Collective. Loads one committed step folder into `state`. Returns what is damaged about it
/// (tensors may be overwritten in part then), nullopt when all is well and the report and `loaded`
/// are filled in. Throws ConfigError, ArgumentError or IoError on all ranks; `state` is
/// untouched after the first two.
[[nodiscard]] std::optional<Damage> try_load(const LoadRanks& ranks,
                                             const std::filesystem::path& folder,
                                             dtensor::StateDict& state, const LoadOptions& options,
                                             LoadReport& report, LoadedFrom& loaded);

}  // namespace sherd::io
