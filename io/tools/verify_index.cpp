#include "io/tools/verify_index.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "io/format/link_path.hpp"
#include "io/hdf5/read_api.hpp"
#include "io/hdf5/write_api.hpp"
#include "io/layout/hyperslab.hpp"
#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

/// Whether disjoint boxes cover just what other disjoint boxes do.
bool same_elements(const std::vector<Box>& a, const std::vector<Box>& b) {
  std::int64_t in_a = 0;
  std::int64_t in_b = 0;
  std::int64_t shared = 0;
  for (const Box& box : b) {
    in_b += box.numel();
  }
  for (const Box& box : a) {
    in_a += box.numel();
    for (const Box& other : b) {
      shared += dtensor::intersect(box, other).numel();
    }
  }
  return in_a == in_b && shared == in_a;
}

std::int64_t product(const std::vector<std::int64_t>& extents) {
  std::int64_t result = 1;
  for (const std::int64_t extent : extents) {
    result *= extent;
  }
  return result;
}

class IndexCheck {
 public:
  IndexCheck(const std::filesystem::path& folder, const Manifest& manifest,
             const std::vector<bool>& sound)
      : folder_(folder), manifest_(manifest), sound_(sound) {
    for (std::size_t i = 0; i < manifest.files.size(); ++i) {
      file_by_name_.emplace(manifest.files[i].name, i);
    }
    file_by_name_.emplace(".", 0);
  }

  std::vector<VerifyProblem> run() {
    for (const TensorRecord& tensor : manifest_.tensors) {
      check(tensor, tensor.key);
      for (const std::string& alias : tensor.aliases) {
        check(tensor, alias);
      }
    }
    return std::move(problems_);
  }

 private:
  void check(const TensorRecord& tensor, const std::string& key) {
    tensor_ = &tensor;
    path_ = link_path(key);
    try {
      if (!hdf5::has_link(file(0), path_)) {
        problem("is missing");
        return;
      }
      check_dataset(hdf5::open_dataset(file(0), path_));
    } catch (const IoError& error) {
      problem(fmt::format("cannot be looked at ({})", error.what()));
    }
  }

  void check_dataset(const Hdf5Dataset& dataset) {
    extents_ = tensor_->shape.extents();
    if (extents_.empty()) {
      extents_.push_back(1);
    }
    const std::vector<std::int64_t> found = hdf5::extents_of(dataset);
    if (found != extents_) {
      problem(fmt::format("has shape {}, the tensor {}", Shape(found).to_string(),
                          tensor_->shape.to_string()));
    } else if (hdf5::dtype_of(dataset) != tensor_->dtype) {
      problem(fmt::format("is not of type {}", to_string(tensor_->dtype)));
    } else if (tensor_->shape.numel() > 0) {
      check_mappings(dataset);
    }
  }

  void check_mappings(const Hdf5Dataset& dataset) {
    if (hdf5::layout_of(dataset) != hdf5::DatasetLayout::virtual_) {
      problem("is not a virtual dataset over the stored pieces");
      return;
    }
    std::map<std::pair<std::size_t, std::uint64_t>, const PieceRecord*> waiting;
    bool all_sound = true;
    for (const PieceRecord& piece : tensor_->pieces) {
      waiting.emplace(std::pair(piece.file, piece.file_offset), &piece);
      all_sound = all_sound && sound_[piece.file];
    }
    for (const hdf5::Mapping& mapping : hdf5::mappings_of(dataset)) {
      const auto file = file_by_name_.find(mapping.file);
      if (file == file_by_name_.end()) {
        problem(fmt::format("reads from '{}', which is no file of the checkpoint", mapping.file));
      } else if (sound_[file->second]) {
        check_mapping(mapping, file->second, waiting);
      }
    }
    if (all_sound && !waiting.empty()) {
      problem(
          fmt::format("does not show {} of {} pieces (they read as missing), the first of rank "
                      "{}",
                      waiting.size(), tensor_->pieces.size(), waiting.begin()->second->rank));
    }
  }

  template <class Waiting>
  void check_mapping(const hdf5::Mapping& mapping, std::size_t from, Waiting& waiting) {
    const std::string where = fmt::format("'{}' in '{}'", mapping.dataset, mapping.file);
    if (!hdf5::has_link(file(from), mapping.dataset)) {
      problem(fmt::format("reads from {}, which is not there", where));
      return;
    }
    const Hdf5Dataset source = hdf5::open_dataset(file(from), mapping.dataset);
    const auto found = waiting.find({from, hdf5::offset_of(source, mapping.dataset)});
    if (found == waiting.end() || hdf5::dtype_of(source) != tensor_->dtype ||
        product(hdf5::extents_of(source)) != found->second->numel) {
      problem(fmt::format("reads from {}, which is no piece of it", where));
      return;
    }
    const PieceRecord& piece = *found->second;
    const std::vector<Box> expected = piece.block && !piece.block->count.empty()
                                          ? std::vector<Box>{*piece.block}
                                          : boxes_of(extents_, {piece.first, piece.numel});
    if (!mapping.whole_source || !same_elements(mapping.boxes, expected)) {
      problem(fmt::format("shows {} in another place than it belongs", where));
    }
    waiting.erase(found);
  }

  hid_t file(std::size_t index) {
    const auto [found, fresh] = open_.try_emplace(index);
    if (fresh) {
      found->second = hdf5::open_file(folder_ / manifest_.files[index].name);
    }
    return found->second.get();
  }

  void problem(const std::string& what) {
    problems_.push_back({.file = manifest_.files[0].name,
                         .tensor = tensor_->key,
                         .text = fmt::format("dataset '{}' of tensor '{}' in '{}' {}", path_,
                                             tensor_->key, manifest_.files[0].name, what)});
  }

  const std::filesystem::path& folder_;
  const Manifest& manifest_;
  const std::vector<bool>& sound_;
  std::map<std::string, std::size_t> file_by_name_;
  std::map<std::size_t, Hdf5File> open_;
  std::vector<VerifyProblem> problems_;
  const TensorRecord* tensor_ = nullptr;
  std::string path_;
  std::vector<std::int64_t> extents_;
};

}  // namespace

std::vector<VerifyProblem> verify_index(const std::filesystem::path& folder,
                                        const Manifest& manifest, const std::vector<bool>& sound) {
  return IndexCheck(folder, manifest, sound).run();
}

}  // namespace sherd::io
