#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "sherd/io/inspect.hpp"

namespace sherd::io {

/// Writes a checkpoint's tensors as one plain HDF5 file: contiguous datasets of global shape, with
/// the index's names, types, attributes and /meta; per_rank entries are left out. A few MiB of
/// memory, whatever the size. The file appears under its name, replacing an older one, once it is
/// complete and synced. Local. Digests are not looked at: verify_checkpoint() does that. Throws
/// IoError.
void consolidate_checkpoint(
    const CheckpointReader& checkpoint, const std::filesystem::path& file,
    const std::function<void(std::uint64_t bytes_done, std::uint64_t bytes_total)>& progress = {});

}  // namespace sherd::io
