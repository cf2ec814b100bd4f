#pragma once

#include <hdf5.h>

#include "sherd/base/unique_handle.hpp"

/// Owners of HDF5 identifiers, one a kind; each closes with the call of its kind.
namespace sherd::io {

template <herr_t (*Close)(hid_t)>
struct Hdf5Traits {
  using Raw = hid_t;
  static Raw null() noexcept { return H5I_INVALID_HID; }
  static void close(Raw raw) noexcept { Close(raw); }
};

using Hdf5File = UniqueHandle<Hdf5Traits<H5Fclose>>;
using Hdf5Group = UniqueHandle<Hdf5Traits<H5Gclose>>;
using Hdf5Dataset = UniqueHandle<Hdf5Traits<H5Dclose>>;
using Hdf5Space = UniqueHandle<Hdf5Traits<H5Sclose>>;
using Hdf5Type = UniqueHandle<Hdf5Traits<H5Tclose>>;
using Hdf5Properties = UniqueHandle<Hdf5Traits<H5Pclose>>;
using Hdf5Attribute = UniqueHandle<Hdf5Traits<H5Aclose>>;

}  // namespace sherd::io
