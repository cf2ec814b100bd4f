#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/hdf5/handles.hpp"
#include "io/layout/hyperslab.hpp"
#include "sherd/base/dtype.hpp"

/// The HDF5 calls that look into files, each wrapped once. All throw IoError naming call and object
/// with HDF5's own reason. Callers hold a hdf5::Section.
namespace sherd::io::hdf5 {

[[nodiscard]] Hdf5File open_file(const std::filesystem::path& path);
[[nodiscard]] bool has_link(hid_t file, const std::string& path);
[[nodiscard]] Hdf5Dataset open_dataset(hid_t file, const std::string& path);
/// Paths ("/a/b") of all links to datasets below `group`, in order of their names.
[[nodiscard]] std::vector<std::string> dataset_paths(hid_t file, const std::string& group);

[[nodiscard]] std::vector<std::int64_t> extents_of(const Hdf5Dataset& dataset);
/// Which of ours its element type is; nullopt for another one.
[[nodiscard]] std::optional<DType> dtype_of(const Hdf5Dataset& dataset);

enum class DatasetLayout : std::uint8_t { contiguous, virtual_, other };
[[nodiscard]] DatasetLayout layout_of(const Hdf5Dataset& dataset);

/// One mapping of a virtual dataset.
struct Mapping {
  std::string file;  ///< both names as they are, without HDF5's format characters
  std::string dataset;
  std::vector<Box> boxes;     ///< of the virtual dataset, in order
  bool whole_source = false;  ///< all elements of the source are mapped, in its order
};
[[nodiscard]] std::vector<Mapping> mappings_of(const Hdf5Dataset& dataset);

/// The text of a scalar string dataset of fixed or variable length; nullopt for other types.
[[nodiscard]] std::optional<std::string> read_text(const Hdf5Dataset& dataset);
/// How many bytes a fixed-length text dataset takes, the NUL among them.
[[nodiscard]] std::size_t text_bytes(const Hdf5Dataset& dataset);
/// The inverse of read_text(), into a dataset of the fixed-length `type`, which takes them all.
void write_text(const Hdf5Dataset& dataset, hid_t type, const std::string& text);
/// The number of a scalar i64 dataset; nullopt for another one.
[[nodiscard]] std::optional<std::int64_t> read_number(const Hdf5Dataset& dataset);
void write_number(const Hdf5Dataset& dataset, std::int64_t value);
[[nodiscard]] std::optional<std::vector<std::int64_t>> numbers_attribute(hid_t object,
                                                                         const char* name);

}  // namespace sherd::io::hdf5
