#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "sherd/io/inspect.hpp"

namespace sherd::io {

/// Writes a checkpoint's tensors as one plain HDF5 file: contiguous datasets of global shape, with
/// the index's names, types, attributes and /meta; per_rank entries are left out. A few MiB of
/// memory, whatever the size. The file appears under its name, replacing an older one of this
/// function, once it is complete and synced; the attribute "unverified" says that the reader did
/// not compare digests. Local. Throws IoError, ConfigError when something else has the name already
/// or the place is inside a checkpoint.
void consolidate_checkpoint(
    const CheckpointReader& checkpoint, const std::filesystem::path& file,
    const std::function<void(std::uint64_t bytes_done, std::uint64_t bytes_total)>& progress = {});

/// Throws ConfigError when `output` lies in the folder of a checkpoint: nothing is written there
/// but by a save. Local.
void refuse_inside_checkpoint(const std::filesystem::path& output);

}  // namespace sherd::io
