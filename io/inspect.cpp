#include "sherd/io/inspect.hpp"

#include <fmt/format.h>

#include "io/checkpoint_files.hpp"
#include "io/checkpoint_folder.hpp"
#include "io/load_match.hpp"
#include "io/manifest.hpp"
#include "sherd/base/check.hpp"
#include "sherd/dtensor/flat_range.hpp"

namespace sherd::io {
namespace {

namespace fs_std = std::filesystem;

std::vector<CheckpointInfo> scan(const fs_std::path& directory) {
  try {
    return scan_folders(directory);
  } catch (const fs_std::filesystem_error& error) {
    throw IoError(fmt::format("cannot list '{}': {}", directory.string(), error.code().message()));
  }
}

}  // namespace

std::vector<CheckpointInfo> list_checkpoints(const fs_std::path& directory) {
  return scan(directory);
}

fs_std::path resolve_checkpoint(const fs_std::path& path) {
  if (fs_std::exists(path / "COMMITTED.json")) {
    return path;
  }
  const std::vector<CheckpointInfo> found = scan(path);
  for (auto info = found.rbegin(); info != found.rend(); ++info) {
    if (info->committed) {
      return info->path;
    }
  }
  throw IoError(
      fmt::format("'{}' is neither a committed checkpoint nor a directory of some", path.string()));
}

struct CheckpointReader::Impl {
  explicit Impl(const fs_std::path& folder)
      : manifest(read_manifest(folder / "COMMITTED.json")), files(folder, manifest) {
    for (const TensorRecord& tensor : manifest.tensors) {
      tensors.push_back({tensor.key, tensor.shape, tensor.dtype, tensor.aliases});
    }
  }

  Manifest manifest;
  CheckpointFiles files;
  std::vector<TensorInfo> tensors;
};

CheckpointReader::CheckpointReader(const fs_std::path& step_folder)
    : impl_(std::make_unique<Impl>(step_folder)) {}

CheckpointReader::~CheckpointReader() = default;

std::int64_t CheckpointReader::step() const { return impl_->manifest.step; }

int CheckpointReader::world_size() const { return impl_->manifest.world_size; }

const std::vector<TensorInfo>& CheckpointReader::tensors() const { return impl_->tensors; }

std::string CheckpointReader::common(const std::string& key) const {
  const auto texts = read_common(impl_->files, impl_->manifest);
  const auto found = texts.find(key);
  if (found == texts.end()) {
    throw IoError(fmt::format("the checkpoint has no text '{}'", key));
  }
  return found->second;
}

void CheckpointReader::read(const std::string& key, std::int64_t first, const Tensor& out) const {
  const TensorRecord* tensor = find_tensor(impl_->manifest, key);
  if (tensor == nullptr) {
    throw IoError(fmt::format("the checkpoint has no tensor '{}'", key));
  }
  expect(out.dtype() == tensor->dtype, "CheckpointReader::read wants the stored dtype");
  const dtensor::FlatRange wanted{first, out.numel()};
  expect(first >= 0 && wanted.end() <= tensor->shape.numel(),
         "CheckpointReader::read goes beyond the tensor");
  const auto width = static_cast<std::int64_t>(size_of(tensor->dtype));
  for (const PieceRecord& piece : tensor->pieces) {
    const dtensor::FlatRange part = dtensor::intersect(wanted, {piece.first, piece.numel});
    if (part.numel > 0) {
      const std::uint64_t offset =
          piece.file_offset + static_cast<std::uint64_t>((part.first - piece.first) * width);
      impl_->files[piece.file].read(offset, {out.raw() + (part.first - first) * width,
                                             static_cast<std::size_t>(part.numel * width)});
    }
  }
}

}  // namespace sherd::io
