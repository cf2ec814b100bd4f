// A shard file: HDF5 lays it out once, and tells where each dataset will lie.
#include "io/format/shard_template.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/format/format_version.hpp"
#include "io/format/link_path.hpp"
#include "io/hdf5/types.hpp"
#include "io/hdf5/write_api.hpp"

namespace sherd::io {
namespace {

constexpr std::size_t kMetadataBytesPerDataset = 1536;

class ShardFileBuilder {
 public:
  ShardFileBuilder(const StateLayout& layout, hid_t file, hdf5::ElementTypes& types)
      : layout_(layout), file_(file), types_(types), groups_(file) {}

  void add(int rank, std::size_t item) {
    const std::uint64_t bytes = item_bytes(layout_, rank, item);
    if (bytes == 0) {
      return;
    }
    const std::string path = item_path(layout_, rank, item);
    groups_.make_parents(path);
    const DType dtype = item_dtype(item);
    const std::vector<std::int64_t> extents = extents_of(rank, item, bytes / size_of(dtype));
    const Hdf5Dataset dataset = hdf5::create_contiguous(file_, path, types_.get(dtype), extents);
    describe(dataset, rank, item);
    placed_.push_back({rank, item, {hdf5::offset_of(dataset, path), bytes}, false});
  }

  std::vector<PlacedDataset> take() {
    std::sort(placed_.begin(), placed_.end(),
              [](const auto& a, const auto& b) { return a.extent.offset < b.extent.offset; });
    return std::move(placed_);
  }

 private:
  /// Flat ranges are 1-D; a block keeps its shape.
  std::vector<std::int64_t> extents_of(int rank, std::size_t item, std::uint64_t numel) const {
    if (item < layout_.tensors.size() && !layout_.tensors[item].blocks.empty()) {
      const auto& block = layout_.tensors[item].blocks[static_cast<std::size_t>(rank)];
      if (!block.count.empty()) {
        return block.count;
      }
    }
    return {static_cast<std::int64_t>(numel)};
  }

  DType item_dtype(std::size_t item) const {
    return item < layout_.tensors.size() ? layout_.tensors[item].facts.dtype : DType::u8;
  }

  void describe(const Hdf5Dataset& dataset, int rank, std::size_t item) const {
    if (item >= layout_.tensors.size()) {
      return;
    }
    const TensorLayout& tensor = layout_.tensors[item];
    hdf5::set_attribute(dataset.get(), "fqn", tensor.facts.name);
    hdf5::set_attribute(dataset.get(), "dtype", to_string(tensor.facts.dtype));
    hdf5::set_attribute(dataset.get(), "global_shape",
                        std::span(tensor.facts.global_shape.extents()));
    const auto index = static_cast<std::size_t>(rank);
    if (tensor.blocks.empty()) {
      hdf5::set_attribute(dataset.get(), "offset", tensor.stored[index].first);
    } else {
      hdf5::set_attribute(dataset.get(), "start", std::span(tensor.blocks[index].start));
    }
  }

  const StateLayout& layout_;
  hid_t file_;
  hdf5::ElementTypes& types_;
  GroupTree groups_;
  std::vector<PlacedDataset> placed_;
};

bool touches_structure(const FileTemplate& file, std::uint64_t from, std::uint64_t to) {
  return std::any_of(file.structure.begin(), file.structure.end(), [&](const Segment& segment) {
    return segment.offset < to && segment.offset + segment.bytes.size() > from;
  });
}

void mark_joined(ShardTemplate& result) {
  for (std::size_t i = 0; i + 1 < result.datasets.size(); ++i) {
    PlacedDataset& here = result.datasets[i];
    const PlacedDataset& next = result.datasets[i + 1];
    const std::uint64_t from = here.extent.end();
    const std::uint64_t to = next.extent.offset;
    here.joined_with_next =
        here.rank == next.rank && to - from < 4096 && !touches_structure(result.file, from, to);
  }
}

}  // namespace

std::string item_path(const StateLayout& layout, int rank, std::size_t item) {
  if (item >= layout.tensors.size()) {
    return rank_group(rank) + "/meta" + link_path(layout.blobs[item - layout.tensors.size()].key);
  }
  return rank_group(rank) + link_path(layout.tensors[item].key);
}

std::size_t metadata_bytes(const StateLayout& layout, std::size_t ranks) {
  return (ranks * (item_count(layout) + 4) + 4) * kMetadataBytesPerDataset;
}

void describe_file(hid_t file, int world_size) {
  hdf5::set_attribute(file, "format", kFormatName);
  hdf5::set_attribute(file, "version", std::int64_t{kFormatVersion});
  hdf5::set_attribute(file, "world_size", std::int64_t{world_size});
}

std::vector<PlacedDataset> create_shard_datasets(const StateLayout& layout,
                                                 std::span<const int> ranks, hid_t file,
                                                 hdf5::ElementTypes& types) {
  ShardFileBuilder builder(layout, file, types);
  const std::vector<std::size_t> order = file_order(layout);
  for (const int rank : ranks) {
    for (const std::size_t item : order) {
      builder.add(rank, item);
    }
  }
  return builder.take();
}

ShardTemplate template_of(const hdf5::MemoryImage& image, std::vector<PlacedDataset> datasets,
                          const std::vector<Extent>& fields) {
  ShardTemplate result;
  result.datasets = std::move(datasets);
  std::vector<Extent> extents = fields;
  for (const PlacedDataset& dataset : result.datasets) {
    extents.push_back(dataset.extent);
  }
  result.file = read_template(image, std::move(extents));
  mark_joined(result);
  return result;
}

ShardTemplate build_shard_template(const StateLayout& layout, std::span<const int> ranks) {
  hdf5::MemoryImage image;
  std::vector<PlacedDataset> datasets;
  {
    const hdf5::Section section;
    Hdf5File file =
        hdf5::create_file(image, metadata_bytes(layout, ranks.size()), hdf5::Pages::shared);
    describe_file(file.get(), layout.world_size);
    {
      hdf5::ElementTypes types;
      datasets = create_shard_datasets(layout, ranks, file.get(), types);
    }
    hdf5::close_file(std::move(file));
  }
  return template_of(image, std::move(datasets), {});
}

}  // namespace sherd::io
