// What differs between two saves of one structure: written into the template by offset.
#include "io/format/meta_fields.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "io/disk/crc32c.hpp"
#include "io/disk/file_ops.hpp"
#include "io/disk/positioned_reader.hpp"

namespace sherd::io {
namespace {

MetaRecord record_of(const MetaField& field) {
  return {field.key, field.extent.offset, 0, field.extent.bytes, 0};
}

void write_field(const File& file, MetaRecord& record, const void* value, std::size_t bytes) {
  std::vector<std::byte> field(record.capacity);
  std::memcpy(field.data(), value, bytes);
  record.bytes = bytes;
  record.crc32c = crc32c(field);
  file.write_at(field, record.file_offset);
}

MetaRecord& own_field(Manifest& manifest, const char* key) {
  const auto found = std::find_if(manifest.own.begin(), manifest.own.end(),
                                  [&](const MetaRecord& record) { return record.key == key; });
  if (found == manifest.own.end()) {
    throw DamagedError(fmt::format("the manifest has no field '{}' of index.h5", key));
  }
  return *found;
}

/// Times that do not fit (they do, up to weeks) are left out, oldest ranks kept.
std::string timing_text(std::vector<RankTiming> timing, std::size_t capacity) {
  std::string text = json_of(timing).dump();
  while (text.size() + 1 > capacity && !timing.empty()) {
    timing.pop_back();
    text = json_of(timing).dump();
  }
  return text;
}

}  // namespace

void list_fields(const IndexTemplate& index, Manifest& manifest) {
  manifest.own = {record_of(index.step), record_of(index.timing)};
  for (const MetaField& text : index.texts) {
    manifest.texts.push_back(record_of(text));
  }
}

void write_fields(FileSystem& fs, const std::filesystem::path& folder, Manifest& manifest,
                  const std::map<std::string, std::string>& texts) {
  const File file(fs, folder / "index.h5", O_WRONLY);
  write_field(file, own_field(manifest, "step"), &manifest.step, sizeof(manifest.step));
  write_field(file, own_field(manifest, "timing"), "", 0);
  for (MetaRecord& record : manifest.texts) {
    const std::string& text = texts.at(record.key);
    write_field(file, record, text.data(), text.size());
  }
}

void write_timing(FileSystem& fs, const std::filesystem::path& folder, Manifest& manifest) {
  MetaRecord& record = own_field(manifest, "timing");
  const std::string text = timing_text(manifest.timing, record.capacity);
  const File file(fs, folder / "index.h5", O_WRONLY);
  write_field(file, record, text.data(), text.size());
  file.sync();
}

}  // namespace sherd::io
