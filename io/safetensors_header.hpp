#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sherd/io/safetensors.hpp"

namespace sherd::io {

/// Longest header a reader of the format accepts.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

/// Name of a dtype in safetensors: "F32", "BF16" ...
[[nodiscard]] std::string_view safetensors_name(DType dtype);

/// Reads and checks the header of one file: its length, JSON, names, dtypes, shapes, and that the
/// tensors cover the rest of the file without hole or overlap. Throws ConfigError naming file and
/// tensor.
[[nodiscard]] std::vector<SafetensorsEntry> read_safetensors_header(
    const std::filesystem::path& file);

}  // namespace sherd::io
