// A file driver of HDF5 whose files are MemoryImages.
#include "io/hdf5/memory_driver.hpp"

#include <H5FDpublic.h>

#include <algorithm>
#include <exception>

#include "io/hdf5/check.hpp"
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace sherd::io::hdf5 {
namespace {

constexpr haddr_t kMostBytes = (haddr_t{1} << 63) - 1;

/// What goes through the property list.
struct DriverInfo {
  MemoryImage* image;
};

/// What HDF5 knows of an open file comes first, as it wants it.
struct OpenImage {
  H5FD_t base;
  MemoryImage* image;
  haddr_t end_of_allocation;
};

OpenImage* image_of(H5FD_t* file) { return reinterpret_cast<OpenImage*>(file); }
const OpenImage* image_of(const H5FD_t* file) { return reinterpret_cast<const OpenImage*>(file); }

/// HDF5 releases neither: a file made here is deleted in close_image().
H5FD_t* open_image(const char*, unsigned, hid_t access, haddr_t) {
  const auto* info = static_cast<const DriverInfo*>(H5Pget_driver_info(access));
  return info == nullptr ? nullptr : &(new OpenImage{{}, info->image, 0})->base;
}

herr_t close_image(H5FD_t* file) {
  delete image_of(file);
  return 0;
}

/// Those of HDF5's own driver for files on disks, so that it lays files out alike.
herr_t query_image(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

haddr_t end_of_allocation(const H5FD_t* file, H5FD_mem_t) {
  return image_of(file)->end_of_allocation;
}

herr_t set_end_of_allocation(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  image_of(file)->end_of_allocation = end;
  return 0;
}

haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) { return image_of(file)->image->bytes(); }

herr_t read_image(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, std::size_t bytes, void* out) {
  image_of(file)->image->read(offset, {static_cast<std::byte*>(out), bytes});
  return 0;
}

herr_t write_image(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, std::size_t bytes,
                   const void* data) {
  try {
    image_of(file)->image->write(offset, {static_cast<const std::byte*>(data), bytes});
    return 0;
  } catch (const std::exception&) {
    return -1;
  }
}

herr_t truncate_image(H5FD_t* file, hid_t, hbool_t) {
  image_of(file)->image->resize(image_of(file)->end_of_allocation);
  return 0;
}

H5FD_class_t memory_class() {
  H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = H5_VFD_MAX;  // the first of those that the library reserves for nobody
#endif
  driver.name = "sherd-memory";
  driver.maxaddr = kMostBytes;
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.fapl_size = sizeof(DriverInfo);
  driver.open = open_image;
  driver.close = close_image;
  driver.query = query_image;
  driver.get_eoa = end_of_allocation;
  driver.set_eoa = set_end_of_allocation;
  driver.get_eof = end_of_file;
  driver.read = read_image;
  driver.write = write_image;
  driver.truncate = truncate_image;
  constexpr H5FD_mem_t kMetadata[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
  std::copy_n(kMetadata, H5FD_MEM_NTYPES, driver.fl_map);
  return driver;
}

}  // namespace

void set_memory_driver(hid_t access, MemoryImage& image) {
  static const H5FD_class_t driver = memory_class();
  const hid_t registered = id(H5FDregister(&driver), "H5FDregister", driver.name);
  const DriverInfo info{&image};
  const herr_t set = H5Pset_driver(access, registered, &info);
  H5FDunregister(registered);  // the property list, and files opened with it, keep it
  ok(set, "H5Pset_driver", driver.name);
}

}  // namespace sherd::io::hdf5
