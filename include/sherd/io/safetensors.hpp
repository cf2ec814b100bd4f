#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sherd/base/dtype.hpp"
#include "sherd/tensor/shape.hpp"
#include "sherd/tensor/tensor.hpp"

namespace sherd::io {

struct SafetensorsEntry {
  std::string name;
  Shape shape;
  DType dtype = DType::f32;  ///< of no meaning where foreign_type says another
  std::string foreign_type;  ///< "F8_E4M3": a type of the format that DType lacks; else ""
  std::filesystem::path file;
  std::uint64_t file_offset = 0;  ///< of the first byte, from the start of the file
};

/// The tensors of one `*.safetensors` file or of a folder (model.safetensors, or all files of
/// model.safetensors.index.json). Checks headers, offsets, sizes, overlaps, holes. Reads no tensor
/// data at construction. Local. Throws ConfigError naming file and tensor.
class SafetensorsReader {
 public:
  explicit SafetensorsReader(const std::filesystem::path& file_or_folder);
  [[nodiscard]] const std::map<std::string, SafetensorsEntry>& entries() const noexcept {
    return entries_;
  }
  /// Elements [first, first+out.numel()) of `name`, converted to out's dtype (1-D, f32 or f64 or
  /// the stored one). Reads only those bytes. Throws ConfigError for a tensor of a foreign type.
  void read(const std::string& name, std::int64_t first, const Tensor& out) const;

 private:
  std::map<std::string, SafetensorsEntry> entries_;
};

/// One tensor to write: `fill(first, out)` is asked for successive ranges in the tensor's dtype.
struct SafetensorsSource {
  std::string name;
  Shape shape;
  DType dtype = DType::f32;
  std::function<void(std::int64_t first, const Tensor& out)> fill;
};
/// Writes `file` (temporary name, fsync, rename) with __metadata__ {"format": "pt"} and what
/// `metadata` adds; never holds more than 64 MiB. Local. Throws IoError.
void write_safetensors(const std::filesystem::path& file,
                       const std::vector<SafetensorsSource>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace sherd::io
