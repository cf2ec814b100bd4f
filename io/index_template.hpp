#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "io/file_template.hpp"
#include "io/state_layout.hpp"
#include "sherd/mesh/device_mesh.hpp"

namespace sherd::io {

/// Reserved bytes for each common text, so that a save does not change the file's structure.
using TextCapacities = std::map<std::string, std::size_t>;
/// Powers of two of at least 256 that hold each text and its NUL.
[[nodiscard]] TextCapacities capacities_for(const std::map<std::string, std::string>& texts);

/// index.h5 as bytes, with the places that change from save to save.
struct IndexTemplate {
  std::vector<std::byte> image;
  Extent step;
  std::map<std::string, Extent> texts;
};

/// Builds it at `scratch` with HDF5, reads it back, removes it. Throws IoError.
[[nodiscard]] IndexTemplate build_index_template(const StateLayout& layout,
                                                 const mesh::DeviceMesh& mesh,
                                                 const TextCapacities& capacities,
                                                 const std::filesystem::path& scratch);

/// The file of one save.
[[nodiscard]] std::vector<std::byte> index_image(const IndexTemplate& index, std::int64_t step,
                                                 const std::map<std::string, std::string>& texts);

}  // namespace sherd::io
