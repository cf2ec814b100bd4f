#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "io/file_template.hpp"
#include "io/state_layout.hpp"

namespace sherd::io {

/// Datasets are numbered as the layout lists them: tensors first, then blobs.
[[nodiscard]] std::size_t item_count(const StateLayout& layout) noexcept;
/// Bytes of an item that `rank` writes; zero means that there is no dataset.
[[nodiscard]] std::uint64_t item_bytes(const StateLayout& layout, int rank, std::size_t item);
/// Path of an item's dataset in its node's file.
[[nodiscard]] std::string item_path(const StateLayout& layout, int rank, std::size_t item);

/// "shards/node-00000.h5"
[[nodiscard]] std::string node_file_name(int node);

struct PlacedDataset {
  int rank = 0;
  std::size_t item = 0;
  Extent extent;
  /// The next dataset in the file is the same rank's and only a few zeros lie between: both can be
  /// written by one call.
  bool joined_with_next = false;
};

/// The structure of one node's file and where every rank's data lies in it.
struct NodeTemplate {
  FileTemplate file;
  std::vector<PlacedDataset> datasets;  ///< by offset
};

/// Builds the file of `ranks` at `scratch` with HDF5, reads it back, removes it. Throws IoError.
[[nodiscard]] NodeTemplate build_node_template(const StateLayout& layout,
                                               std::span<const int> ranks,
                                               const std::filesystem::path& scratch);

}  // namespace sherd::io
