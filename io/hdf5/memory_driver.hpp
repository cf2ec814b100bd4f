#pragma once

#include <hdf5.h>

#include "io/hdf5/memory_image.hpp"

namespace sherd::io::hdf5 {

/// Lets files that are opened with `access` live in `image`, which must outlive them. A file on a
/// disk can refuse HDF5's writes when it is closed; such a file stays half open, and HDF5 fails on
/// it once more, with a crash, when the process ends.
void set_memory_driver(hid_t access, MemoryImage& image);

}  // namespace sherd::io::hdf5
