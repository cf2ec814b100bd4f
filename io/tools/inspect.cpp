// A checkpoint opened for reading on one process, whatever number of ranks wrote it.
#include "sherd/io/inspect.hpp"

#include <fmt/format.h>

#include "io/commit/committed.hpp"
#include "io/commit/folder.hpp"
#include "io/disk/file_ops.hpp"
#include "io/format/checkpoint_files.hpp"
#include "io/format/manifest.hpp"
#include "io/layout/region.hpp"
#include "io/load/match.hpp"
#include "io/tools/checked_reads.hpp"
#include "sherd/base/check.hpp"

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

TensorInfo info_of(const TensorRecord& tensor) {
  TensorInfo info{tensor.key,  tensor.shape,     tensor.dtype,         tensor.aliases,
                  tensor.name, tensor.placement, tensor.requires_grad, {}};
  for (const PieceRecord& piece : tensor.pieces) {
    info.pieces.push_back(
        {piece.rank, piece.file, piece.file_offset, piece.first, piece.numel, piece.block});
  }
  return info;
}

}  // namespace

std::vector<CheckpointInfo> list_checkpoints(const fs_std::path& directory) {
  return scan(directory);
}

fs_std::path resolve_checkpoint(const fs_std::path& path) {
  if (is_there(path / "COMMITTED.json")) {
    return path;
  }
  const Candidates found = choose_candidates(read_committed(path));
  if (!found.tried.empty()) {
    return found.tried.front().path;
  }
  throw IoError(
      fmt::format("'{}' is neither a committed checkpoint nor a directory of some", path.string()));
}

struct CheckpointReader::Impl {
  Impl(const fs_std::path& step_folder, const ReaderOptions& options)
      : folder(step_folder),
        manifest(read_manifest(folder / "COMMITTED.json")),
        files(folder, manifest),
        verify(options.verify),
        checked(files, manifest) {
    for (const TensorRecord& tensor : manifest.tensors) {
      tensors.push_back(info_of(tensor));
    }
  }

  void read(const TensorRecord& tensor, const PieceRecord& piece, std::uint64_t offset,
            std::span<std::byte> out) {
    try {
      if (verify) {
        checked.read(tensor, piece, offset, out);
      } else {
        files[piece.file].read(piece.file_offset + offset, out);
      }
    } catch (const IoError&) {
      refuse_removed();
      throw;
    }
  }

  /// Whoever deletes a checkpoint takes the whole folder away first.
  void refuse_removed() const {
    if (!is_there(folder / "COMMITTED.json")) {
      throw IoError(
          fmt::format("'{}' was removed meanwhile (a running save keeps the last few). "
                      "Try: a newer one, or a file PINNED in the folder",
                      folder.string()));
    }
  }

  fs_std::path folder;
  Manifest manifest;
  CheckpointFiles files;
  bool verify;
  CheckedReads checked;
  std::vector<TensorInfo> tensors;
};

CheckpointReader::CheckpointReader(const fs_std::path& step_folder, const ReaderOptions& options)
    : impl_(std::make_unique<Impl>(step_folder, options)) {}

CheckpointReader::~CheckpointReader() = default;

const fs_std::path& CheckpointReader::folder() const { return impl_->folder; }

bool CheckpointReader::verifies() const { return impl_->verify; }

std::int64_t CheckpointReader::step() const { return impl_->manifest.step; }

int CheckpointReader::world_size() const { return impl_->manifest.world_size; }

const std::string& CheckpointReader::uuid() const { return impl_->manifest.uuid; }

const std::vector<TensorInfo>& CheckpointReader::tensors() const { return impl_->tensors; }

const TensorInfo* CheckpointReader::find(std::string_view key) const {
  const TensorRecord* record = find_tensor(impl_->manifest, key);
  return record == nullptr
             ? nullptr
             : &impl_->tensors[static_cast<std::size_t>(record - impl_->manifest.tensors.data())];
}

std::vector<FileInfo> CheckpointReader::files() const {
  std::vector<FileInfo> files;
  for (const FileRecord& file : impl_->manifest.files) {
    files.push_back({file.name, file.bytes});
  }
  return files;
}

std::vector<PerRankInfo> CheckpointReader::per_rank() const {
  std::vector<PerRankInfo> entries;
  for (const BlobRecord& blob : impl_->manifest.blobs) {
    entries.push_back({blob.key, blob.rank, blob.bytes});
  }
  return entries;
}

std::vector<RankTimes> CheckpointReader::timing() const {
  constexpr double kSeconds = 1e-6;
  std::vector<RankTimes> times;
  for (const RankTiming& timing : impl_->manifest.timing) {
    times.push_back({timing.rank, static_cast<double>(timing.stall_us) * kSeconds,
                     static_cast<double>(timing.staged_us) * kSeconds,
                     static_cast<double>(timing.written_us) * kSeconds,
                     static_cast<double>(timing.durable_us) * kSeconds,
                     static_cast<double>(timing.copy_us) * kSeconds,
                     static_cast<std::uint64_t>(timing.bytes)});
  }
  return times;
}

std::vector<std::string> CheckpointReader::common_keys() const {
  std::vector<std::string> keys;
  for (const MetaRecord& text : impl_->manifest.texts) {
    keys.push_back(text.key);
  }
  return keys;
}

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
  expect(first >= 0 && out.numel() <= tensor->shape.numel() - first,
         "CheckpointReader::read goes beyond the tensor");
  const auto width = static_cast<std::int64_t>(size_of(tensor->dtype));
  const Region wanted{{first, out.numel()}};
  for (const PieceRecord& piece : tensor->pieces) {
    const Region stored{{piece.first, piece.numel}, piece.block};
    for_each_run(
        tensor->shape.extents(), stored, {0, piece.numel}, wanted, [&](const CopyRun& run) {
          impl_->read(*tensor, piece, static_cast<std::uint64_t>(run.from * width),
                      {out.raw() + run.to * width, static_cast<std::size_t>(run.numel * width)});
        });
  }
}

}  // namespace sherd::io
