// index.h5: virtual datasets of global shape over the files of the shards.
#include "io/format/index_template.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "io/format/link_path.hpp"
#include "io/hdf5/types.hpp"
#include "io/hdf5/write_api.hpp"
#include "io/layout/hyperslab.hpp"

namespace sherd::io {
namespace {

class IndexBuilder {
 public:
  IndexBuilder(const StateLayout& layout, const ShardFiles& files, hid_t file)
      : layout_(layout), files_(files), file_(file), groups_(file) {
    describe_file(file, layout.world_size);
    hdf5::create_group(file, "/meta");
    groups_.assume("/meta");
  }

  void add_tensor(std::size_t item) {
    const TensorLayout& tensor = layout_.tensors[item];
    const std::string path = link_path(tensor.key);
    groups_.make_parents(path);
    const Hdf5Dataset dataset = create(tensor, item, path);
    hdf5::set_attribute(dataset.get(), "fqn", tensor.facts.name);
    hdf5::set_attribute(dataset.get(), "dtype", to_string(tensor.facts.dtype));
    hdf5::set_attribute(dataset.get(), "global_shape",
                        std::span(tensor.facts.global_shape.extents()));
    hdf5::set_attribute(dataset.get(), "requires_grad",
                        std::int64_t{tensor.facts.requires_grad ? 1 : 0});
    const std::string top = tensor.key.substr(0, tensor.key.find('.'));
    for (const std::string& alias : tensor.facts.aliases) {
      const std::string link = link_path(top + "." + alias);
      groups_.make_parents(link);
      hdf5::hard_link(file_, path, link);
    }
  }

  MetaField add_step() {
    const Hdf5Dataset dataset =
        hdf5::create_contiguous(file_, "/meta/step", types_.get(DType::i64), {});
    return {"step", {hdf5::offset_of(dataset, "/meta/step"), sizeof(std::int64_t)}};
  }

  /// `name` is the dataset's, below /meta.
  MetaField add_text(const std::string& key, const std::string& name, std::size_t capacity) {
    const std::string path = "/meta" + link_path(name);
    groups_.make_parents(path);
    const Hdf5Type type = hdf5::string_type(capacity);
    const Hdf5Dataset dataset = hdf5::create_contiguous(file_, path, type.get(), {});
    return {key, {hdf5::offset_of(dataset, path), capacity}};
  }

  std::vector<PlacedDataset> add_shards(std::span<const int> ranks) {
    return create_shard_datasets(layout_, ranks, file_, types_);
  }

 private:
  Hdf5Dataset create(const TensorLayout& tensor, std::size_t item, const std::string& path) {
    const hid_t type = types_.get(tensor.facts.dtype);
    std::vector<std::int64_t> extents = tensor.facts.global_shape.extents();
    if (extents.empty()) {
      extents.push_back(1);
    }
    if (tensor.facts.global_shape.numel() == 0) {
      return hdf5::create_contiguous(file_, path, type, extents);
    }
    const auto missing = hdf5::missing_value(tensor.facts.dtype);
    return hdf5::create_virtual(file_, path, type, extents, missing.data(),
                                sources(tensor, item, extents));
  }

  std::vector<hdf5::VirtualSource> sources(const TensorLayout& tensor, std::size_t item,
                                           const std::vector<std::int64_t>& extents) const {
    std::vector<hdf5::VirtualSource> result;
    for (int rank = 0; rank < layout_.world_size; ++rank) {
      const dtensor::FlatRange range = tensor.stored[static_cast<std::size_t>(rank)];
      if (range.numel > 0) {
        result.push_back({files_.in_index() ? "." : files_.name(files_.of(rank)),
                          item_path(layout_, rank, item), extents_of(tensor, rank),
                          boxes(tensor, rank, extents)});
      }
    }
    return result;
  }

  /// Of the dataset that a rank's part is stored in.
  static std::vector<std::int64_t> extents_of(const TensorLayout& tensor, int rank) {
    const auto index = static_cast<std::size_t>(rank);
    if (!tensor.blocks.empty() && !tensor.blocks[index].count.empty()) {
      return tensor.blocks[index].count;
    }
    return {tensor.stored[index].numel};
  }

  static std::vector<Box> boxes(const TensorLayout& tensor, int rank,
                                const std::vector<std::int64_t>& extents) {
    const auto index = static_cast<std::size_t>(rank);
    if (!tensor.blocks.empty() && !tensor.blocks[index].count.empty()) {
      return {tensor.blocks[index]};
    }
    return boxes_of(extents, tensor.stored[index]);
  }

  const StateLayout& layout_;
  const ShardFiles& files_;
  hid_t file_;
  hdf5::ElementTypes types_;
  GroupTree groups_;
};

/// A user's text may be called like a field of ours.
std::string dataset_name(const std::string& key) {
  return key == "step" || key == "timing" ? key + "_text" : key;
}

std::size_t timing_capacity(int world_size) {
  constexpr std::size_t kBytesPerRank = 192;  // of numbers up to a day in microseconds
  return std::bit_ceil(256 + kBytesPerRank * static_cast<std::size_t>(world_size));
}

std::vector<Extent> extents_of(const IndexTemplate& index) {
  std::vector<Extent> extents{index.step.extent, index.timing.extent};
  for (const MetaField& text : index.texts) {
    extents.push_back(text.extent);
  }
  return extents;
}

std::vector<PlacedDataset> fill(IndexBuilder& builder, const StateLayout& layout,
                                const ShardFiles& files, const TextCapacities& capacities,
                                IndexTemplate& result) {
  for (std::size_t item = 0; item < layout.tensors.size(); ++item) {
    builder.add_tensor(item);
  }
  result.step = builder.add_step();
  result.timing = builder.add_text("timing", "timing", timing_capacity(layout.world_size));
  for (const auto& [key, capacity] : capacities) {
    result.texts.push_back(builder.add_text(key, dataset_name(key), capacity));
  }
  return files.in_index() ? builder.add_shards(files.members(0)) : std::vector<PlacedDataset>{};
}

}  // namespace

TextCapacities capacities_for(const std::map<std::string, std::string>& texts) {
  TextCapacities capacities;
  for (const auto& [key, text] : texts) {
    capacities[key] = std::bit_ceil(std::max<std::size_t>(256, text.size() + 1));
  }
  return capacities;
}

IndexTemplate build_index_template(const StateLayout& layout, const ShardFiles& files,
                                   const TextCapacities& capacities) {
  hdf5::MemoryImage image;
  IndexTemplate result;
  std::vector<PlacedDataset> datasets;
  const std::size_t room =
      files.in_index() ? metadata_bytes(layout, files.members(0).size()) : std::size_t{65536};
  {
    const hdf5::Section section;
    Hdf5File file = hdf5::create_file(
        image, room, files.pages_apart() ? hdf5::Pages::apart : hdf5::Pages::shared);
    {
      IndexBuilder builder(layout, files, file.get());
      datasets = fill(builder, layout, files, capacities, result);
    }
    hdf5::close_file(std::move(file));
  }
  result.content = template_of(image, std::move(datasets), extents_of(result));
  return result;
}

}  // namespace sherd::io
