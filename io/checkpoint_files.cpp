#include "io/checkpoint_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "io/crc32c.hpp"
#include "io/file_template.hpp"

namespace sherd::io {

namespace {

void check_file(const std::filesystem::path& path, std::uint64_t wanted) {
  std::error_code error;
  const std::uint64_t bytes = std::filesystem::file_size(path, error);
  if (error == std::errc::no_such_file_or_directory) {
    throw DamagedError(fmt::format("file '{}' is missing", path.string()));
  }
  if (error) {
    throw IoError(fmt::format("cannot stat '{}': {}", path.string(), error.message()));
  }
  if (bytes != wanted) {
    throw DamagedError(
        fmt::format("file '{}' has {} bytes, should have {}", path.string(), bytes, wanted));
  }
}

/// The whole field, checked.
std::string read_field(const CheckpointFiles& files, const Manifest& manifest,
                       const MetaRecord& record) {
  std::string field(record.capacity, '\0');
  files[0].read(record.file_offset, std::as_writable_bytes(std::span(field)));
  if (crc32c(std::as_bytes(std::span(field))) != record.crc32c) {
    throw DamagedError(fmt::format("text '{}' in '{}' does not match its crc32c", record.key,
                                   manifest.files[0].name));
  }
  return field;
}

void check_gaps(const CheckpointFiles& files, const Manifest& manifest, std::size_t file,
                std::vector<Extent> covered) {
  std::sort(covered.begin(), covered.end(),
            [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  std::uint32_t crc = 0;
  std::vector<std::byte> bytes;
  for (const Extent& gap : gaps_between(covered, manifest.files[file].bytes)) {
    bytes.resize(gap.bytes);
    files[file].read(gap.offset, bytes);
    crc = crc32c(bytes, crc);
  }
  if (crc != manifest.files[file].structure_crc32c) {
    throw DamagedError(fmt::format("the HDF5 structure of '{}' does not match its crc32c",
                                   manifest.files[file].name));
  }
}

}  // namespace

CheckpointFiles::CheckpointFiles(std::filesystem::path folder, const Manifest& manifest,
                                 FileShare checked)
    : folder_(std::move(folder)), readers_(manifest.files.size()) {
  for (const FileRecord& file : manifest.files) {
    names_.push_back(file.name);
  }
  for (std::size_t i = checked.first; i < manifest.files.size(); i += checked.stride) {
    check_file(folder_ / manifest.files[i].name, manifest.files[i].bytes);
  }
}

const PositionedReader& CheckpointFiles::operator[](std::size_t file) const {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<PositionedReader>& reader = readers_.at(file);
  if (!reader) {
    reader = std::make_unique<PositionedReader>(folder_ / names_[file]);
  }
  return *reader;
}

std::map<std::string, std::string> read_common(const CheckpointFiles& files,
                                               const Manifest& manifest) {
  std::map<std::string, std::string> texts;
  for (const MetaRecord& text : manifest.texts) {
    texts[text.key] = read_field(files, manifest, text).substr(0, text.bytes);
  }
  return texts;
}

void check_structure(const CheckpointFiles& files, const Manifest& manifest, FileShare share) {
  std::vector<std::vector<Extent>> covered(manifest.files.size());
  const auto cover = [&](std::size_t file, std::uint64_t offset, std::uint64_t bytes) {
    if (file % share.stride == share.first && bytes > 0) {
      covered[file].push_back({offset, bytes});
    }
  };
  for (const TensorRecord& tensor : manifest.tensors) {
    for (const PieceRecord& piece : tensor.pieces) {
      cover(piece.file, piece.file_offset,
            static_cast<std::uint64_t>(piece.numel) * size_of(tensor.dtype));
    }
  }
  for (const BlobRecord& blob : manifest.blobs) {
    cover(blob.file, blob.file_offset, blob.bytes);
  }
  for (const auto* list : {&manifest.texts, &manifest.own}) {
    for (const MetaRecord& field : *list) {
      cover(0, field.file_offset, field.capacity);
    }
  }
  for (std::size_t file = share.first; file < covered.size(); file += share.stride) {
    check_gaps(files, manifest, file, std::move(covered[file]));
  }
  for (std::size_t i = 0; share.first == 0 && i < manifest.own.size(); ++i) {
    static_cast<void>(read_field(files, manifest, manifest.own[i]));
  }
}

}  // namespace sherd::io
