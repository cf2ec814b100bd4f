#include "io/node_template.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/format_version.hpp"
#include "io/hdf5_api.hpp"
#include "io/hdf5_types.hpp"
#include "io/link_path.hpp"
#include "io/scratch_file.hpp"

namespace sherd::io {
namespace {

constexpr std::size_t kMetadataBytesPerDataset = 1536;

class NodeFileBuilder {
 public:
  NodeFileBuilder(const StateLayout& layout, hid_t file)
      : layout_(layout), file_(file), types_(file), groups_(file) {
    hdf5::set_attribute(file, "format", kFormatName);
    hdf5::set_attribute(file, "version", std::int64_t{kFormatVersion});
    hdf5::set_attribute(file, "world_size", std::int64_t{layout.world_size});
    hdf5::create_group(file, "/dtypes");
  }

  void add(int rank, std::size_t item) {
    const std::uint64_t bytes = item_bytes(layout_, rank, item);
    if (bytes == 0) {
      return;
    }
    const std::string path = item_path(layout_, rank, item);
    groups_.make_parents(path);
    const DType dtype = item_dtype(item);
    const auto numel = static_cast<std::int64_t>(bytes / size_of(dtype));
    const Hdf5Dataset dataset =
        hdf5::create_contiguous(file_, path, types_.get(dtype), std::span(&numel, 1));
    describe(dataset, rank, item);
    placed_.push_back({rank, item, {hdf5::offset_of(dataset, path), bytes}, false});
  }

  std::vector<PlacedDataset> take() {
    std::sort(placed_.begin(), placed_.end(),
              [](const auto& a, const auto& b) { return a.extent.offset < b.extent.offset; });
    return std::move(placed_);
  }

 private:
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
    hdf5::set_attribute(dataset.get(), "offset",
                        tensor.stored[static_cast<std::size_t>(rank)].first);
  }

  const StateLayout& layout_;
  hid_t file_;
  hdf5::CommittedTypes types_;
  GroupTree groups_;
  std::vector<PlacedDataset> placed_;
};

bool touches_structure(const FileTemplate& file, std::uint64_t from, std::uint64_t to) {
  return std::any_of(file.structure.begin(), file.structure.end(), [&](const Segment& segment) {
    return segment.offset < to && segment.offset + segment.bytes.size() > from;
  });
}

void mark_joined(NodeTemplate& result) {
  for (std::size_t i = 0; i + 1 < result.datasets.size(); ++i) {
    PlacedDataset& here = result.datasets[i];
    const PlacedDataset& next = result.datasets[i + 1];
    const std::uint64_t from = here.extent.end();
    const std::uint64_t to = next.extent.offset;
    here.joined_with_next =
        here.rank == next.rank && to - from < 4096 && !touches_structure(result.file, from, to);
  }
}

std::vector<PlacedDataset> create_datasets(const StateLayout& layout, std::span<const int> ranks,
                                           const std::filesystem::path& path) {
  const hdf5::Section section;
  const std::size_t objects = ranks.size() * (item_count(layout) + 4) + 4;
  Hdf5File file = hdf5::create_file(path, objects * kMetadataBytesPerDataset);
  std::vector<PlacedDataset> placed;
  {
    NodeFileBuilder builder(layout, file.get());
    for (const int rank : ranks) {
      for (std::size_t item = 0; item < item_count(layout); ++item) {
        builder.add(rank, item);
      }
    }
    placed = builder.take();
  }
  hdf5::close_file(std::move(file), path);
  return placed;
}

}  // namespace

std::size_t item_count(const StateLayout& layout) noexcept {
  return layout.tensors.size() + layout.blobs.size();
}

std::uint64_t item_bytes(const StateLayout& layout, int rank, std::size_t item) {
  const auto index = static_cast<std::size_t>(rank);
  if (item >= layout.tensors.size()) {
    return static_cast<std::uint64_t>(layout.blobs[item - layout.tensors.size()].bytes[index]);
  }
  const TensorLayout& tensor = layout.tensors[item];
  return static_cast<std::uint64_t>(tensor.stored[index].numel) * size_of(tensor.facts.dtype);
}

std::string item_path(const StateLayout& layout, int rank, std::size_t item) {
  if (item >= layout.tensors.size()) {
    return rank_group(rank) + "/meta" + link_path(layout.blobs[item - layout.tensors.size()].key);
  }
  return rank_group(rank) + link_path(layout.tensors[item].key);
}

std::string node_file_name(int node) { return fmt::format("shards/node-{:05}.h5", node); }

NodeTemplate build_node_template(const StateLayout& layout, std::span<const int> ranks,
                                 const std::filesystem::path& scratch) {
  const ScratchFile guard(scratch);
  NodeTemplate result;
  result.datasets = create_datasets(layout, ranks, scratch);
  std::vector<Extent> extents;
  for (const PlacedDataset& dataset : result.datasets) {
    extents.push_back(dataset.extent);
  }
  result.file = read_template(scratch, std::move(extents));
  mark_joined(result);
  return result;
}

}  // namespace sherd::io
