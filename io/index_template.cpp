#include "io/index_template.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "io/format_version.hpp"
#include "io/hdf5_api.hpp"
#include "io/hdf5_types.hpp"
#include "io/hyperslab.hpp"
#include "io/link_path.hpp"
#include "io/node_template.hpp"
#include "io/positioned_reader.hpp"
#include "io/scratch_file.hpp"

namespace sherd::io {
namespace {

class IndexBuilder {
 public:
  IndexBuilder(const StateLayout& layout, const mesh::DeviceMesh& mesh, hid_t file)
      : layout_(layout), mesh_(mesh), file_(file), types_(file), groups_(file) {
    hdf5::set_attribute(file, "format", kFormatName);
    hdf5::set_attribute(file, "version", std::int64_t{kFormatVersion});
    hdf5::set_attribute(file, "world_size", std::int64_t{layout.world_size});
    hdf5::create_group(file, "/dtypes");
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

  Extent add_step() {
    const Hdf5Dataset dataset =
        hdf5::create_contiguous(file_, "/meta/step", types_.get(DType::i64), {});
    return {hdf5::offset_of(dataset, "/meta/step"), sizeof(std::int64_t)};
  }

  Extent add_text(const std::string& key, std::size_t capacity) {
    const std::string path = "/meta" + link_path(key == "step" ? "step_text" : key);
    groups_.make_parents(path);
    const Hdf5Type type = hdf5::string_type(capacity);
    const Hdf5Dataset dataset = hdf5::create_contiguous(file_, path, type.get(), {});
    return {hdf5::offset_of(dataset, path), capacity};
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
        result.push_back({node_file_name(mesh_.coord(rank).node), item_path(layout_, rank, item),
                          range.numel, boxes_of(extents, range)});
      }
    }
    return result;
  }

  const StateLayout& layout_;
  const mesh::DeviceMesh& mesh_;
  hid_t file_;
  hdf5::CommittedTypes types_;
  GroupTree groups_;
};

void patch(std::vector<std::byte>& image, const Extent& extent, const void* data,
           std::size_t bytes) {
  std::memcpy(image.data() + extent.offset, data, std::min<std::size_t>(bytes, extent.bytes));
}

}  // namespace

TextCapacities capacities_for(const std::map<std::string, std::string>& texts) {
  TextCapacities capacities;
  for (const auto& [key, text] : texts) {
    capacities[key] = std::bit_ceil(std::max<std::size_t>(256, text.size() + 1));
  }
  return capacities;
}

IndexTemplate build_index_template(const StateLayout& layout, const mesh::DeviceMesh& mesh,
                                   const TextCapacities& capacities,
                                   const std::filesystem::path& scratch) {
  const ScratchFile guard(scratch);
  IndexTemplate result;
  {
    const hdf5::Section section;
    Hdf5File file = hdf5::create_file(scratch, 64 * 1024);
    {
      IndexBuilder builder(layout, mesh, file.get());
      for (std::size_t item = 0; item < layout.tensors.size(); ++item) {
        builder.add_tensor(item);
      }
      result.step = builder.add_step();
      for (const auto& [key, capacity] : capacities) {
        result.texts[key] = builder.add_text(key, capacity);
      }
    }
    hdf5::close_file(std::move(file), scratch);
  }
  const PositionedReader reader(scratch);
  result.image.resize(reader.bytes());
  reader.read(0, result.image);
  return result;
}

std::vector<std::byte> index_image(const IndexTemplate& index, std::int64_t step,
                                   const std::map<std::string, std::string>& texts) {
  std::vector<std::byte> image = index.image;
  patch(image, index.step, &step, sizeof(step));
  for (const auto& [key, extent] : index.texts) {
    patch(image, extent, texts.at(key).c_str(), texts.at(key).size() + 1);
  }
  return image;
}

}  // namespace sherd::io
