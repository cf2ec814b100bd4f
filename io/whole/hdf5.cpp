// The HDF5 form of a whole state.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <span>

#include "io/format/format_version.hpp"
#include "io/format/link_path.hpp"
#include "io/format/structure_file.hpp"
#include "io/hdf5/read_api.hpp"
#include "io/hdf5/types.hpp"
#include "io/hdf5/write_api.hpp"
#include "io/whole/file.hpp"
#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

constexpr std::size_t kMetadataBytesPerDataset = 1536;

/// A text may be called like a field that checkpoints have of their own.
std::string text_path(const std::string& key) {
  return "/meta" + link_path(key == "step" || key == "timing" ? key + "_text" : key);
}

class Builder {
 public:
  explicit Builder(hid_t file) : file_(file), groups_(file) {
    hdf5::set_attribute(file, "format", "sherd-full-state");
    hdf5::set_attribute(file, "version", std::int64_t{kFormatVersion});
  }

  void add(WholeTensor& tensor) {
    const std::string path = link_path(tensor.key);
    groups_.make_parents(path);
    std::vector<std::int64_t> extents = tensor.shape.extents();
    if (extents.empty()) {
      extents.push_back(1);
    }
    const Hdf5Dataset dataset =
        hdf5::create_contiguous(file_, path, types_.get(tensor.dtype), extents);
    hdf5::set_attribute(dataset.get(), "fqn", tensor.name);
    hdf5::set_attribute(dataset.get(), "dtype", to_string(tensor.dtype));
    hdf5::set_attribute(dataset.get(), "global_shape", std::span(tensor.shape.extents()));
    hdf5::set_attribute(dataset.get(), "requires_grad", std::int64_t{tensor.requires_grad ? 1 : 0});
    tensor.file_offset = tensor.bytes() == 0 ? 0 : hdf5::offset_of(dataset, path);
    for (const std::string& alias : tensor.aliases) {
      const std::string link = link_path(alias);
      groups_.make_parents(link);
      hdf5::hard_link(file_, path, link);
    }
  }

  void add_text(const std::string& key, const std::string& text) {
    write_text_at(text_path(key), text, text.size() + 1);
  }

  void copy_meta(const std::filesystem::path& from) {
    const Hdf5File source = hdf5::open_file(from);
    for (const std::string& path : hdf5::dataset_paths(source.get(), "/meta")) {
      const Hdf5Dataset dataset = hdf5::open_dataset(source.get(), path);
      if (const auto text = hdf5::read_text(dataset)) {
        write_text_at(path, *text, std::max(text->size() + 1, hdf5::text_bytes(dataset)));
      } else if (const auto number = hdf5::read_number(dataset)) {
        groups_.make_parents(path);
        hdf5::write_number(hdf5::create_contiguous(file_, path, types_.get(DType::i64), {}),
                           *number);
      }
    }
  }

 private:
  void write_text_at(const std::string& path, const std::string& text, std::size_t bytes) {
    groups_.make_parents(path);
    const Hdf5Type type = hdf5::string_type(bytes);
    hdf5::write_text(hdf5::create_contiguous(file_, path, type.get(), {}), type.get(), text);
  }

  hid_t file_;
  hdf5::ElementTypes types_;
  GroupTree groups_;
};

/// Reads what a file of whole tensors says of itself.
class Listing {
 public:
  Listing(hid_t file, const std::filesystem::path& path) : file_(file), path_(path) {}

  WholeFile read() {
    for (const std::string& link : hdf5::dataset_paths(file_, "/")) {
      const Hdf5Dataset dataset = hdf5::open_dataset(file_, link);
      if (link.starts_with("/meta/")) {
        add_text(link, dataset);
      } else {
        add_tensor(link, dataset);
      }
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(const std::string& link, const char* problem) const {
    throw ConfigError(fmt::format(
        "{}: dataset '{}' {} (this is no file of whole tensors). Try: a file of save_full_state or "
        "sherd ckpt consolidate, or load the checkpoint folder itself",
        path_.string(), link, problem));
  }

  void add_text(const std::string& link, const Hdf5Dataset& dataset) {
    const auto text = hdf5::read_text(dataset);
    std::string key = key_of_path(link.substr(5));
    if (text && key != "timing") {
      result_
          .texts[key == "step_text" || key == "timing_text" ? key.substr(0, key.size() - 5) : key] =
          *text;
    }
  }

  void add_tensor(const std::string& link, const Hdf5Dataset& dataset) {
    const auto dtype = hdf5::dtype_of(dataset);
    if (!dtype) {
      refuse(link, "has an element type that is none of sherd's");
    }
    if (hdf5::layout_of(dataset) != hdf5::DatasetLayout::contiguous) {
      refuse(link, "is not contiguous");
    }
    WholeTensor tensor{
        key_of_path(link), key_of_path(link), shape_of(dataset), *dtype, true, {}, 0};
    if (tensor.bytes() > 0) {
      tensor.file_offset = hdf5::offset_of(dataset, link);
      const auto [found, fresh] = by_offset_.emplace(tensor.file_offset, result_.tensors.size());
      if (!fresh) {  // another link to the same dataset
        result_.tensors[found->second].aliases.push_back(tensor.key);
        return;
      }
    }
    result_.tensors.push_back(std::move(tensor));
  }

  /// A 0-d tensor is a dataset of one element that says so.
  static Shape shape_of(const Hdf5Dataset& dataset) {
    const auto stated = hdf5::numbers_attribute(dataset.get(), "global_shape");
    const std::vector<std::int64_t> extents = hdf5::extents_of(dataset);
    return stated && stated->empty() && extents.size() == 1 && extents[0] == 1 ? Shape{}
                                                                               : Shape(extents);
  }

  hid_t file_;
  const std::filesystem::path& path_;
  WholeFile result_;
  std::map<std::uint64_t, std::size_t> by_offset_;
};

}  // namespace

void create_whole_hdf5(const std::filesystem::path& path, WholeFile& file,
                       const std::filesystem::path& meta_from) {
  const hdf5::Section section;
  const std::size_t objects = file.tensors.size() + file.texts.size() + 8;
  hdf5::MemoryImage image;
  Hdf5File out = hdf5::create_file(image, objects * kMetadataBytesPerDataset, hdf5::Pages::shared);
  {
    Builder builder(out.get());
    if (file.unverified) {
      hdf5::set_attribute(out.get(), "unverified", std::int64_t{1});
    }
    for (WholeTensor& tensor : file.tensors) {
      builder.add(tensor);
    }
    if (!meta_from.empty()) {
      builder.copy_meta(meta_from);
    }
    for (const auto& [key, text] : file.texts) {
      builder.add_text(key, text);
    }
  }
  hdf5::close_file(std::move(out));
  file.bytes = image.bytes();
  std::vector<Extent> data;
  for (const WholeTensor& tensor : file.tensors) {
    if (tensor.bytes() > 0) {
      data.push_back({tensor.file_offset, tensor.bytes()});
    }
  }
  const auto fs = posix_file_system();
  write_structure(*fs, path, read_template(image, std::move(data)));
}

WholeFile read_whole_hdf5(const std::filesystem::path& path) {
  const hdf5::Section section;
  try {
    const Hdf5File file = hdf5::open_file(path);
    WholeFile whole = Listing(file.get(), path).read();
    whole.bytes = std::filesystem::file_size(path);
    return whole;
  } catch (const IoError& error) {
    throw ConfigError(fmt::format("{}: cannot be read as HDF5 ({}). Try: copy the file again",
                                  path.string(), error.what()));
  }
}

}  // namespace sherd::io
