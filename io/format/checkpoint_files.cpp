// The open files of one checkpoint, with the sizes that its manifest names.
#include "io/format/checkpoint_files.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "io/disk/crc32c.hpp"

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
    std::string field(text.capacity, '\0');
    files[0].read(text.file_offset, std::as_writable_bytes(std::span(field)));
    if (crc32c(std::as_bytes(std::span(field))) != text.crc32c) {
      throw DamagedError(fmt::format("text '{}' in '{}' does not match its crc32c", text.key,
                                     manifest.files[0].name),
                         manifest.files[0].name);
    }
    texts[text.key] = field.substr(0, text.bytes);
  }
  return texts;
}

}  // namespace sherd::io
