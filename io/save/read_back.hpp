#pragma once

#include <filesystem>

#include "io/layout/state_layout.hpp"
#include "io/save/chunks.hpp"
#include "io/save/stager.hpp"

namespace sherd::io {

/// Reads this rank's data of a shard file back, past the page cache where the file system can, and
/// compares it with the digests that were taken in memory. Throws IoError naming file and tensor.
void read_back(const std::filesystem::path& file, const StateLayout& layout,
               const StagingPlan& plan, const Stager& stager);

}  // namespace sherd::io
