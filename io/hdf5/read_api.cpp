#include "io/hdf5/read_api.hpp"

#include <algorithm>
#include <array>

#include "io/disk/file_ops.hpp"
#include "io/hdf5/check.hpp"
#include "io/hdf5/types.hpp"
#include "io/hdf5/write_api.hpp"

namespace sherd::io::hdf5 {
namespace {

constexpr std::array<DType, 8> kTypes{DType::f64, DType::f32, DType::f16, DType::bf16,
                                      DType::i64, DType::i32, DType::u16, DType::u8};

Hdf5Space space_of(const Hdf5Dataset& dataset) {
  return Hdf5Space(id(H5Dget_space(dataset.get()), "H5Dget_space", "dataset"));
}

Hdf5Properties creation_of(const Hdf5Dataset& dataset) {
  return Hdf5Properties(id(H5Dget_create_plist(dataset.get()), "H5Dget_create_plist", "dataset"));
}

std::vector<std::int64_t> extents_of(const Hdf5Space& space) {
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 0) {
    fail("H5Sget_simple_extent_ndims", "dataspace");
  }
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  if (rank > 0 && H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr) < 0) {
    fail("H5Sget_simple_extent_dims", "dataspace");
  }
  return {dims.begin(), dims.end()};
}

/// The selected blocks; one of all elements when nothing is left out.
std::vector<Box> selected_boxes(const Hdf5Space& space) {
  const std::vector<std::int64_t> extents = extents_of(space);
  if (H5Sget_select_type(space.get()) == H5S_SEL_ALL) {
    return {{std::vector<std::int64_t>(extents.size(), 0), extents}};
  }
  const hssize_t count = H5Sget_select_hyper_nblocks(space.get());
  if (count < 0) {
    fail("H5Sget_select_hyper_nblocks", "mapping");
  }
  const std::size_t dims = extents.size();
  std::vector<hsize_t> corners(static_cast<std::size_t>(count) * dims * 2);
  ok(H5Sget_select_hyper_blocklist(space.get(), 0, static_cast<hsize_t>(count), corners.data()),
     "H5Sget_select_hyper_blocklist", "mapping");
  std::vector<Box> boxes;
  for (std::size_t at = 0; at < corners.size(); at += 2 * dims) {
    Box box;
    for (std::size_t d = 0; d < dims; ++d) {
      box.start.push_back(static_cast<std::int64_t>(corners[at + d]));
      box.count.push_back(static_cast<std::int64_t>(corners[at + dims + d] - corners[at + d]) + 1);
    }
    boxes.push_back(std::move(box));
  }
  return boxes;
}

template <class Get>
std::string name_in(hid_t list, std::size_t index, const Get& get, const char* call) {
  const ssize_t length = get(list, index, nullptr, 0);
  if (length < 0) {
    fail(call, "mapping");
  }
  std::string name(static_cast<std::size_t>(length) + 1, '\0');
  get(list, index, name.data(), name.size());
  name.resize(static_cast<std::size_t>(length));
  for (auto at = name.find("%%"); at != std::string::npos; at = name.find("%%", at + 1)) {
    name.erase(at, 1);  // how a plain '%' is written there
  }
  return name;
}

/// Reads text through `read(type, buffer)`, which fills a buffer of the given in-memory type.
template <class Read>
std::optional<std::string> read_string(hid_t type, const Read& read) {
  if (H5Tget_class(type) != H5T_STRING) {
    return std::nullopt;
  }
  if (H5Tis_variable_str(type) > 0) {
    char* text = nullptr;
    read(type, &text);
    std::string result = text == nullptr ? "" : text;
    H5free_memory(text);
    return result;
  }
  std::string text(H5Tget_size(type), '\0');
  read(type, text.data());
  text.resize(std::min(text.size(), text.find('\0')));
  return text;
}

std::optional<Hdf5Attribute> open_attribute(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) {
    return std::nullopt;
  }
  return Hdf5Attribute(id(H5Aopen(object, name, H5P_DEFAULT), "H5Aopen", name));
}

herr_t collect_dataset(hid_t group, const char* name, const H5L_info_t*, void* data) {
  const hid_t object = H5Oopen(group, name, H5P_DEFAULT);
  if (object < 0) {
    return 0;  // a link that leads nowhere
  }
  if (H5Iget_type(object) == H5I_DATASET) {
    static_cast<std::vector<std::string>*>(data)->emplace_back(name);
  }
  H5Oclose(object);
  return 0;
}

}  // namespace

Hdf5File open_file(const std::filesystem::path& path) {
  refuse_other_kinds(path);
  const Hdf5Properties access = file_access();
  return Hdf5File(
      id(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), "H5Fopen", path.string()));
}

bool has_link(hid_t file, const std::string& path) {
  for (auto slash = path.find('/', 1); true; slash = path.find('/', slash + 1)) {
    if (H5Lexists(file, path.substr(0, slash).c_str(), H5P_DEFAULT) <= 0) {
      return false;
    }
    if (slash == std::string::npos) {
      return true;
    }
  }
}

Hdf5Dataset open_dataset(hid_t file, const std::string& path) {
  return Hdf5Dataset(id(H5Dopen2(file, path.c_str(), H5P_DEFAULT), "H5Dopen2", path));
}

std::vector<std::string> dataset_paths(hid_t file, const std::string& group) {
  std::vector<std::string> names;
  const Hdf5Group top(id(H5Gopen2(file, group.c_str(), H5P_DEFAULT), "H5Gopen2", group));
  ok(H5Lvisit(top.get(), H5_INDEX_NAME, H5_ITER_INC, collect_dataset, &names), "H5Lvisit", group);
  for (std::string& name : names) {
    name.insert(0, group == "/" ? group : group + "/");
  }
  return names;
}

std::vector<std::int64_t> extents_of(const Hdf5Dataset& dataset) {
  return extents_of(space_of(dataset));
}

std::optional<DType> dtype_of(const Hdf5Dataset& dataset) {
  const Hdf5Type type(id(H5Dget_type(dataset.get()), "H5Dget_type", "dataset"));
  for (const DType dtype : kTypes) {
    if (H5Tequal(type.get(), file_type(dtype).get()) > 0) {
      return dtype;
    }
  }
  return std::nullopt;
}

DatasetLayout layout_of(const Hdf5Dataset& dataset) {
  switch (H5Pget_layout(creation_of(dataset).get())) {
    case H5D_CONTIGUOUS:
      return DatasetLayout::contiguous;
    case H5D_VIRTUAL:
      return DatasetLayout::virtual_;
    default:
      return DatasetLayout::other;
  }
}

std::vector<Mapping> mappings_of(const Hdf5Dataset& dataset) {
  const Hdf5Properties list = creation_of(dataset);
  std::size_t count = 0;
  ok(H5Pget_virtual_count(list.get(), &count), "H5Pget_virtual_count", "dataset");
  std::vector<Mapping> mappings;
  for (std::size_t i = 0; i < count; ++i) {
    const Hdf5Space there(
        id(H5Pget_virtual_vspace(list.get(), i), "H5Pget_virtual_vspace", "mapping"));
    const Hdf5Space source(
        id(H5Pget_virtual_srcspace(list.get(), i), "H5Pget_virtual_srcspace", "mapping"));
    mappings.push_back({name_in(list.get(), i, H5Pget_virtual_filename, "H5Pget_virtual_filename"),
                        name_in(list.get(), i, H5Pget_virtual_dsetname, "H5Pget_virtual_dsetname"),
                        selected_boxes(there), H5Sget_select_type(source.get()) == H5S_SEL_ALL});
  }
  return mappings;
}

std::optional<std::string> read_text(const Hdf5Dataset& dataset) {
  const Hdf5Type type(id(H5Dget_type(dataset.get()), "H5Dget_type", "dataset"));
  return read_string(type.get(), [&](hid_t memory, void* out) {
    ok(H5Dread(dataset.get(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, out), "H5Dread", "text");
  });
}

std::optional<std::int64_t> read_number(const Hdf5Dataset& dataset) {
  if (dtype_of(dataset) != DType::i64 || !extents_of(dataset).empty()) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  ok(H5Dread(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value), "H5Dread",
     "number");
  return value;
}

void write_number(const Hdf5Dataset& dataset, std::int64_t value) {
  ok(H5Dwrite(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value), "H5Dwrite",
     "number");
}

std::size_t text_bytes(const Hdf5Dataset& dataset) {
  const Hdf5Type type(id(H5Dget_type(dataset.get()), "H5Dget_type", "dataset"));
  return H5Tget_size(type.get());
}

void write_text(const Hdf5Dataset& dataset, hid_t type, const std::string& text) {
  std::string padded = text;
  padded.resize(std::max(text.size() + 1, H5Tget_size(type)), '\0');
  ok(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data()), "H5Dwrite",
     "text");
}

std::optional<std::vector<std::int64_t>> numbers_attribute(hid_t object, const char* name) {
  const auto attribute = open_attribute(object, name);
  if (!attribute) {
    return std::nullopt;
  }
  const Hdf5Space space(id(H5Aget_space(attribute->get()), "H5Aget_space", name));
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(std::max<hssize_t>(count, 0)));
  if (!numbers.empty()) {
    ok(H5Aread(attribute->get(), H5T_NATIVE_INT64, numbers.data()), "H5Aread", name);
  }
  return numbers;
}

}  // namespace sherd::io::hdf5
