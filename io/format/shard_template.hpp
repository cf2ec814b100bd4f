#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/format/placed_dataset.hpp"
#include "io/format/template.hpp"
#include "io/hdf5/types.hpp"
#include "io/layout/state_layout.hpp"

namespace sherd::io {

/// Path of an item's dataset in its shard file.
[[nodiscard]] std::string item_path(const StateLayout& layout, int rank, std::size_t item);

/// The structure of one shard file and where every rank's data lies in it.
struct ShardTemplate {
  FileTemplate file;
  std::vector<PlacedDataset> datasets;  ///< by offset
};

/// How much the metadata of the datasets of `ranks` takes, about.
[[nodiscard]] std::size_t metadata_bytes(const StateLayout& layout, std::size_t ranks);

/// The attributes of a file of ours.
void describe_file(hid_t file, int world_size);

/// Creates the datasets of `ranks` in an open file.
[[nodiscard]] std::vector<PlacedDataset> create_shard_datasets(const StateLayout& layout,
                                                               std::span<const int> ranks,
                                                               hid_t file,
                                                               hdf5::ElementTypes& types);

/// A closed file as a template. `fields` are extents of it that change from save to save
/// and belong to no rank.
[[nodiscard]] ShardTemplate template_of(const hdf5::MemoryImage& image,
                                        std::vector<PlacedDataset> datasets,
                                        const std::vector<Extent>& fields);

/// Lets HDF5 build the file of `ranks`, in memory. Throws IoError.
[[nodiscard]] ShardTemplate build_shard_template(const StateLayout& layout,
                                                 std::span<const int> ranks);

}  // namespace sherd::io
