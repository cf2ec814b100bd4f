#include "io/hdf5/write_api.hpp"

#include <algorithm>

#include "io/hdf5/check.hpp"
#include "io/hdf5/memory_driver.hpp"

namespace sherd::io::hdf5 {
namespace {

constexpr hsize_t kAlignment = 4096;
constexpr const char* kInMemory = "a file in memory";

std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::vector<hsize_t> to_hsize(std::span<const std::int64_t> extents) {
  return {extents.begin(), extents.end()};
}

Hdf5Space simple_space(std::span<const std::int64_t> extents, std::string_view object) {
  const std::vector<hsize_t> dims = to_hsize(extents);
  const hid_t raw = dims.empty()
                        ? H5Screate(H5S_SCALAR)
                        : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
  return Hdf5Space(id(raw, "H5Screate_simple", object));
}

Hdf5Properties properties(hid_t kind) {
  return Hdf5Properties(id(H5Pcreate(kind), "H5Pcreate", "property list"));
}

Hdf5Properties dataset_properties() {
  Hdf5Properties list = properties(H5P_DATASET_CREATE);
  ok(H5Pset_obj_track_times(list.get(), false), "H5Pset_obj_track_times", "dataset");
  return list;
}

/// A name beyond ASCII says that it is UTF-8.
Hdf5Properties link_properties(const std::string& path) {
  Hdf5Properties list = properties(H5P_LINK_CREATE);
  const bool ascii = std::all_of(path.begin(), path.end(), [](char c) { return (c & 0x80) == 0; });
  if (!ascii) {
    ok(H5Pset_char_encoding(list.get(), H5T_CSET_UTF8), "H5Pset_char_encoding", path);
  }
  return list;
}

/// In the names of a source HDF5 takes "%b" for the number of a block.
std::string without_format(const std::string& name) {
  std::string escaped;
  for (const char c : name) {
    escaped += c;
    if (c == '%') {
      escaped += c;
    }
  }
  return escaped;
}

void write_attribute(hid_t object, const char* name, hid_t type, const Hdf5Space& space,
                     const void* data) {
  const Hdf5Attribute attribute(id(
      H5Acreate2(object, name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT), "H5Acreate2", name));
  if (data != nullptr) {
    ok(H5Awrite(attribute.get(), type, data), "H5Awrite", name);
  }
}

void select_boxes(const Hdf5Space& space, std::span<const Box> boxes, const std::string& path) {
  bool first = true;
  for (const Box& box : boxes) {
    const std::vector<hsize_t> start = to_hsize(box.start);
    const std::vector<hsize_t> count = to_hsize(box.count);
    const std::vector<hsize_t> ones(start.size(), 1);
    ok(H5Sselect_hyperslab(space.get(), first ? H5S_SELECT_SET : H5S_SELECT_OR, start.data(),
                           nullptr, ones.data(), count.data()),
       "H5Sselect_hyperslab", path);
    first = false;
  }
}

}  // namespace

Section::Section() : lock_(library_mutex()) {
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Section::~Section() { H5Eset_auto2(H5E_DEFAULT, print_, print_data_); }

Hdf5Properties file_access() {
  Hdf5Properties access = properties(H5P_FILE_ACCESS);
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 11, 0))
  ok(H5Pset_file_locking(access.get(), false, true), "H5Pset_file_locking", "file access");
#endif
  return access;
}

Hdf5File create_file(MemoryImage& image, std::size_t metadata_bytes, Pages pages) {
  const Hdf5Properties creation = properties(H5P_FILE_CREATE);
  ok(H5Pset_obj_track_times(creation.get(), false), "H5Pset_obj_track_times", kInMemory);
  const Hdf5Properties access = file_access();
  set_memory_driver(access.get(), image);
  ok(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V110), "H5Pset_libver_bounds",
     kInMemory);
  ok(H5Pset_alignment(access.get(), pages == Pages::apart ? 1 : kAlignment, kAlignment),
     "H5Pset_alignment", kInMemory);
  if (pages == Pages::apart) {
    ok(H5Pset_small_data_block_size(access.get(), 0), "H5Pset_small_data_block_size", kInMemory);
  }
  ok(H5Pset_meta_block_size(access.get(), metadata_bytes), "H5Pset_meta_block_size", kInMemory);
  ok(H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG), "H5Pset_fclose_degree", kInMemory);
  return Hdf5File(id(H5Fcreate(kInMemory, H5F_ACC_TRUNC, creation.get(), access.get()), "H5Fcreate",
                     kInMemory));
}

void close_file(Hdf5File file, std::string_view name) {
  ok(H5Fclose(file.release()), "H5Fclose", name);
}

void create_group(hid_t file, const std::string& path) {
  const Hdf5Properties creation = properties(H5P_GROUP_CREATE);
  ok(H5Pset_obj_track_times(creation.get(), false), "H5Pset_obj_track_times", path);
  const Hdf5Group group(
      id(H5Gcreate2(file, path.c_str(), link_properties(path).get(), creation.get(), H5P_DEFAULT),
         "H5Gcreate2", path));
}

void hard_link(hid_t file, const std::string& existing, const std::string& name) {
  ok(H5Lcreate_hard(file, existing.c_str(), file, name.c_str(), link_properties(name).get(),
                    H5P_DEFAULT),
     "H5Lcreate_hard", name);
}

Hdf5Dataset create_contiguous(hid_t file, const std::string& path, hid_t type,
                              std::span<const std::int64_t> extents) {
  const Hdf5Properties list = dataset_properties();
  ok(H5Pset_layout(list.get(), H5D_CONTIGUOUS), "H5Pset_layout", path);
  ok(H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time", path);
  ok(H5Pset_fill_time(list.get(), H5D_FILL_TIME_NEVER), "H5Pset_fill_time", path);
  const Hdf5Space space = simple_space(extents, path);
  return Hdf5Dataset(id(H5Dcreate2(file, path.c_str(), type, space.get(),
                                   link_properties(path).get(), list.get(), H5P_DEFAULT),
                        "H5Dcreate2", path));
}

std::uint64_t offset_of(const Hdf5Dataset& dataset, const std::string& path) {
  const haddr_t offset = H5Dget_offset(dataset.get());
  if (offset == HADDR_UNDEF) {
    fail("H5Dget_offset", path);
  }
  return offset;
}

Hdf5Dataset create_virtual(hid_t file, const std::string& path, hid_t type,
                           std::span<const std::int64_t> extents, const void* fill,
                           std::span<const VirtualSource> sources) {
  const Hdf5Properties list = dataset_properties();
  ok(H5Pset_layout(list.get(), H5D_VIRTUAL), "H5Pset_layout", path);
  ok(H5Pset_fill_value(list.get(), type, fill), "H5Pset_fill_value", path);
  const Hdf5Space space = simple_space(extents, path);
  for (const VirtualSource& source : sources) {
    select_boxes(space, source.boxes, path);
    const Hdf5Space all = simple_space(source.extents, path);
    ok(H5Pset_virtual(list.get(), space.get(), without_format(source.file).c_str(),
                      without_format(source.dataset).c_str(), all.get()),
       "H5Pset_virtual", path);
  }
  ok(H5Sselect_all(space.get()), "H5Sselect_all", path);
  return Hdf5Dataset(id(H5Dcreate2(file, path.c_str(), type, space.get(),
                                   link_properties(path).get(), list.get(), H5P_DEFAULT),
                        "H5Dcreate2", path));
}

void set_attribute(hid_t object, const char* name, std::string_view text) {
  const Hdf5Type type = string_type(text.size() + 1);
  const std::string terminated(text);
  write_attribute(object, name, type.get(), simple_space({}, name), terminated.c_str());
}

void set_attribute(hid_t object, const char* name, std::int64_t value) {
  write_attribute(object, name, H5T_STD_I64LE, simple_space({}, name), &value);
}

void set_attribute(hid_t object, const char* name, std::span<const std::int64_t> values) {
  if (values.empty()) {
    write_attribute(object, name, H5T_STD_I64LE,
                    Hdf5Space(id(H5Screate(H5S_NULL), "H5Screate", name)), nullptr);
    return;
  }
  const auto count = static_cast<std::int64_t>(values.size());
  write_attribute(object, name, H5T_STD_I64LE, simple_space(std::span(&count, 1), name),
                  values.data());
}

Hdf5Type string_type(std::size_t bytes) {
  Hdf5Type type(id(H5Tcopy(H5T_C_S1), "H5Tcopy", "string"));
  ok(H5Tset_size(type.get(), bytes), "H5Tset_size", "string");
  ok(H5Tset_strpad(type.get(), H5T_STR_NULLTERM), "H5Tset_strpad", "string");
  ok(H5Tset_cset(type.get(), H5T_CSET_UTF8), "H5Tset_cset", "string");
  return type;
}

}  // namespace sherd::io::hdf5
