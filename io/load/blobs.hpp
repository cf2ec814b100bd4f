#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "io/format/checkpoint_files.hpp"
#include "sherd/comm/agree.hpp"
#include "sherd/dtensor/state_dict.hpp"
#include "sherd/io/load_options.hpp"

namespace sherd::io {

/// The per-rank entries that this rank takes, as options.per_rank says when another number of ranks
/// saved them. Notes (the same on all ranks) go to the report. Throws ConfigError on all ranks when
/// that is refused or, if strict, when an entry of the state is not there. Local.
[[nodiscard]] std::vector<const BlobRecord*> choose_blobs(
    const Manifest& manifest, const comm::Ranks& ranks, const dtensor::StateDict& state,
    const LoadOptions& options, const std::filesystem::path& folder, LoadReport& report);

/// Their contents by key. Throws DamagedError when `verify` and a digest differs. Local.
[[nodiscard]] std::map<std::string, std::vector<std::byte>> read_blobs(
    const CheckpointFiles& files, const Manifest& manifest,
    const std::vector<const BlobRecord*>& blobs, bool verify);

}  // namespace sherd::io
