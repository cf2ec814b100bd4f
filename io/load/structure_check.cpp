// The bytes between the datasets, which loading never needs: damage there would surprise h5dump.
#include "io/load/structure_check.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "io/disk/crc32c.hpp"
#include "io/format/digests.hpp"

namespace sherd::io {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;

void check(const PositionedReader& reader, const DigestItem& item, const std::string& file,
           std::vector<std::byte>& buffer) {
  std::uint32_t crc = 0;
  for (const Extent& extent : item.extents) {
    for (std::uint64_t at = extent.offset; at < extent.end(); at += kMostBytes) {
      buffer.resize(std::min(kMostBytes, extent.end() - at));
      reader.read(at, buffer);
      crc = crc32c(buffer, crc);
    }
  }
  if (crc != item.expected) {
    throw DamagedError(item.what + " does not match its crc32c", file);
  }
}

}  // namespace

void check_structure(const CheckpointFiles& files, const Manifest& manifest, FileShare share) {
  std::vector<std::byte> buffer;
  for (const DigestItem& item : list_digests(manifest)) {
    if (item.tensor == nullptr && item.file % share.stride == share.first) {
      check(files[item.file], item, manifest.files[item.file].name, buffer);
    }
  }
}

}  // namespace sherd::io
