#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sherd/base/dtype.hpp"
#include "sherd/tensor/shape.hpp"

namespace sherd::io {

/// A tensor that lies whole and row-major in a file.
struct WholeTensor {
  std::string key;
  std::string name;  ///< ShardSpec::name; of HDF5 files
  Shape shape;
  DType dtype = DType::f32;
  bool requires_grad = true;
  std::vector<std::string> aliases;  ///< whole keys
  std::uint64_t file_offset = 0;     ///< of the first byte

  [[nodiscard]] std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(shape.numel()) * size_of(dtype);
  }
};

/// What a file of whole tensors holds and where.
struct WholeFile {
  std::vector<WholeTensor> tensors;
  std::map<std::string, std::string> texts;
  std::uint64_t bytes = 0;  ///< of the file
  bool unverified = false;  ///< copied without comparing digests
};

/// Makes `path` with everything but the tensors' data and fills in file_offset and bytes. Not
/// synced. Throws IoError.
void create_whole_safetensors(const std::filesystem::path& path, WholeFile& file);
/// The same; with `meta_from`, /meta is a copy of that file's instead of the texts.
void create_whole_hdf5(const std::filesystem::path& path, WholeFile& file,
                       const std::filesystem::path& meta_from = {});

/// Recognises either format by its first bytes. Throws ConfigError naming what is wrong.
[[nodiscard]] WholeFile read_whole_file(const std::filesystem::path& path);
[[nodiscard]] WholeFile read_whole_hdf5(const std::filesystem::path& path);

/// For telling other ranks.
[[nodiscard]] std::string to_json(const WholeFile& file);
[[nodiscard]] WholeFile parse_whole_file(std::string_view json);

}  // namespace sherd::io
