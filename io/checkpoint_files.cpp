#include "io/checkpoint_files.hpp"

#include <fmt/format.h>

#include "io/crc32c.hpp"

namespace sherd::io {

CheckpointFiles::CheckpointFiles(const std::filesystem::path& folder, const Manifest& manifest) {
  for (const FileRecord& file : manifest.files) {
    readers_.emplace_back(folder / file.name);
    const std::uint64_t bytes = readers_.back().bytes();
    if (bytes != file.bytes) {
      throw DamagedError(fmt::format("file '{}' has {} bytes, should have {}",
                                     (folder / file.name).string(), bytes, file.bytes));
    }
  }
}

std::map<std::string, std::string> read_common(const CheckpointFiles& files,
                                               const Manifest& manifest) {
  std::string image(manifest.files.at(0).bytes, '\0');
  files[0].read(0, std::as_writable_bytes(std::span(image)));
  if (crc32c(std::as_bytes(std::span(image))) != manifest.files.at(0).structure_crc32c) {
    throw DamagedError(fmt::format("file '{}' does not match its crc32c", manifest.files[0].name));
  }
  std::map<std::string, std::string> texts;
  for (const TextRecord& text : manifest.texts) {
    texts[text.key] = image.substr(text.file_offset, text.bytes);
  }
  return texts;
}

}  // namespace sherd::io
