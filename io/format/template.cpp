// What of a closed HDF5 file is not raw data.
#include "io/format/template.hpp"

#include <algorithm>

#include "io/disk/crc32c.hpp"

namespace sherd::io {
namespace {

bool is_zero(std::byte byte) { return byte == std::byte{0}; }

/// Keeps the stretch from the first to the last byte that is not zero.
void keep_nonzero(FileTemplate& result, const Extent& gap, const std::vector<std::byte>& bytes) {
  const auto first = std::find_if_not(bytes.begin(), bytes.end(), is_zero);
  if (first == bytes.end()) {
    return;
  }
  const auto last = std::find_if_not(bytes.rbegin(), bytes.rend(), is_zero).base();
  const auto skipped = static_cast<std::uint64_t>(first - bytes.begin());
  result.structure.push_back({gap.offset + skipped, {first, last}});
}

}  // namespace

std::vector<Extent> gaps_between(const std::vector<Extent>& extents, std::uint64_t file_bytes) {
  std::vector<Extent> gaps;
  std::uint64_t at = 0;
  for (const Extent& extent : extents) {
    if (extent.offset > at) {
      gaps.push_back({at, extent.offset - at});
    }
    at = std::max(at, extent.end());
  }
  if (file_bytes > at) {
    gaps.push_back({at, file_bytes - at});
  }
  return gaps;
}

FileTemplate read_template(const hdf5::MemoryImage& image, std::vector<Extent> extents) {
  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  FileTemplate result;
  result.bytes = image.bytes();
  std::vector<std::byte> bytes;
  for (const Extent& gap : gaps_between(extents, result.bytes)) {
    bytes.resize(gap.bytes);
    image.read(gap.offset, bytes);
    result.structure_crc32c = crc32c(bytes, result.structure_crc32c);
    keep_nonzero(result, gap, bytes);
  }
  return result;
}

}  // namespace sherd::io
