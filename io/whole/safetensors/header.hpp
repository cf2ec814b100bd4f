#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sherd/io/safetensors.hpp"

namespace sherd::io {

/// Longest header a reader of the format accepts.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

/// Reads and checks the header of one file: its length, JSON, names, dtypes, shapes, and that the
/// tensors cover the rest of the file without hole or overlap. Throws ConfigError naming file and
/// tensor.
[[nodiscard]] std::vector<SafetensorsEntry> read_safetensors_header(
    const std::filesystem::path& file);

/// Throws ConfigError for a tensor of a type that DType lacks: for files of whole states.
void refuse_foreign_types(const std::vector<SafetensorsEntry>& entries);

/// The texts under __metadata__ of a file whose header is good.
[[nodiscard]] std::map<std::string, std::string> read_safetensors_metadata(
    const std::filesystem::path& file);

/// One tensor of a header to be written.
struct SafetensorsField {
  std::string_view name;
  const Shape* shape = nullptr;
  DType dtype = DType::f32;
  std::uint64_t data_offset = 0;  ///< from the end of the header
};

/// Indices of the fields in the order of the format's own writer: wide elements first (so that all
/// are aligned), then by name.
[[nodiscard]] std::vector<std::size_t> safetensors_order(
    const std::vector<SafetensorsField>& fields);

/// The first bytes of a file: length, JSON, and spaces so that data begins on a multiple of 8.
/// Tensors lie in the order of `fields`, whose offsets are filled in. `metadata` gets
/// "format" = "pt" in addition. Throws ArgumentError for two tensors of one name.
[[nodiscard]] std::string make_safetensors_header(
    std::vector<SafetensorsField>& fields, const std::map<std::string, std::string>& metadata);

}  // namespace sherd::io
