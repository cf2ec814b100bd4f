#pragma once

#include "io/format/checkpoint_files.hpp"
#include "io/format/manifest.hpp"

namespace sherd::io {

/// Compares the digests of all bytes of the files of `share` that belong to no tensor: the HDF5
/// structure, /meta and per-rank data. A load that did not would call a file good that h5dump
/// cannot open. Local. Throws DamagedError, IoError.
void check_structure(const CheckpointFiles& files, const Manifest& manifest, FileShare share);

}  // namespace sherd::io
