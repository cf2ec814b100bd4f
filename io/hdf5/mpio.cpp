#include "io/hdf5/mpio.hpp"

#include <algorithm>
#include <exception>
#include <vector>

#include "io/hdf5/check.hpp"
#include "io/hdf5/write_api.hpp"
#include "sherd/base/error.hpp"

namespace sherd::io::hdf5 {
namespace {

Hdf5Properties collective_transfer() {
  Hdf5Properties list(id(H5Pcreate(H5P_DATASET_XFER), "H5Pcreate", "transfer"));
  ok(H5Pset_dxpl_mpio(list.get(), H5FD_MPIO_COLLECTIVE), "H5Pset_dxpl_mpio", "transfer");
  return list;
}

std::vector<hsize_t> extents_of_space(const Hdf5Space& space) {
  std::vector<hsize_t> extents(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space.get())));
  H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
  return extents;
}

/// Rows [first, first + count) along the first dimension, in file and memory; nothing when absent.
struct Slice {
  Hdf5Space file;
  Hdf5Space memory;
};

Slice select(const Hdf5Dataset& dataset, std::vector<hsize_t> extents, hsize_t first, hsize_t count,
             bool present, const std::string& path) {
  Slice slice{Hdf5Space(id(H5Dget_space(dataset.get()), "H5Dget_space", path)), {}};
  std::vector<hsize_t> start(extents.size(), 0);
  start[0] = first;
  extents[0] = count;
  ok(H5Sselect_hyperslab(slice.file.get(), H5S_SELECT_SET, start.data(), nullptr, extents.data(),
                         nullptr),
     "H5Sselect_hyperslab", path);
  slice.memory =
      Hdf5Space(id(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                   "H5Screate_simple", path));
  if (!present) {
    ok(H5Sselect_none(slice.file.get()), "H5Sselect_none", path);
    ok(H5Sselect_none(slice.memory.get()), "H5Sselect_none", path);
  }
  return slice;
}

}  // namespace

Hdf5File open_parallel(const std::filesystem::path& path, MPI_Comm comm) {
  const Hdf5Properties access = file_access();
  ok(H5Pset_fapl_mpio(access.get(), comm, MPI_INFO_NULL), "H5Pset_fapl_mpio", path.string());
  ok(H5Pset_all_coll_metadata_ops(access.get(), true), "H5Pset_all_coll_metadata_ops",
     path.string());
  ok(H5Pset_coll_metadata_write(access.get(), true), "H5Pset_coll_metadata_write", path.string());
  return Hdf5File(id(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()), "H5Fopen", path.string()));
}

void write_collectively(hid_t file, const std::string& path, const std::byte* data,
                        std::size_t slice_bytes) {
  const Hdf5Dataset dataset(id(H5Dopen2(file, path.c_str(), H5P_DEFAULT), "H5Dopen2", path));
  const Hdf5Type type(id(H5Dget_type(dataset.get()), "H5Dget_type", path));
  const Hdf5Space space(id(H5Dget_space(dataset.get()), "H5Dget_space", path));
  const Hdf5Properties transfer = collective_transfer();
  const std::vector<hsize_t> extents = extents_of_space(space);
  hsize_t row_bytes = H5Tget_size(type.get());
  for (std::size_t d = 1; d < extents.size(); ++d) {
    row_bytes *= extents[d];
  }
  const hsize_t rows = std::max<hsize_t>(1, slice_bytes / row_bytes);
  std::exception_ptr failure;
  for (hsize_t first = 0; first < extents[0]; first += rows) {
    const hsize_t count = std::min(rows, extents[0] - first);
    const Slice slice = select(dataset, extents, first, count, data != nullptr, path);
    try {
      ok(H5Dwrite(dataset.get(), type.get(), slice.memory.get(), slice.file.get(), transfer.get(),
                  data == nullptr ? nullptr : data + first * row_bytes),
         "H5Dwrite", path);
    } catch (const IoError&) {
      failure = failure == nullptr ? std::current_exception() : failure;
    }
  }
  if (failure != nullptr) {
    std::rethrow_exception(failure);
  }
}

}  // namespace sherd::io::hdf5
