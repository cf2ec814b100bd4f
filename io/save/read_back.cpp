// verify_after_save: the file read again past the page cache.
#include "io/save/read_back.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>

#include "io/disk/crc32c.hpp"
#include "io/disk/positioned_reader.hpp"
#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

const std::string& name_of(const StateLayout& layout, std::size_t item) {
  return item < layout.tensors.size() ? layout.tensors[item].key
                                      : layout.blobs[item - layout.tensors.size()].key;
}

}  // namespace

void read_back(const std::filesystem::path& file, const StateLayout& layout,
               const StagingPlan& plan, const Stager& stager) {
  if (plan.chunks.empty()) {
    return;
  }
  std::uint64_t largest = 0;
  for (const Chunk& chunk : plan.chunks) {
    largest = std::max(largest, chunk.bytes);
  }
  const PositionedReader reader(file);
  PageBuffer buffer(largest);
  for (const Chunk& chunk : plan.chunks) {
    const std::span<std::byte> bytes = reader.read_direct(chunk.file_offset, chunk.bytes, buffer);
    for (const ChunkPart& part : chunk.parts) {
      if (crc32c(bytes.subspan(part.at, part.bytes)) != stager.digest(part)) {
        throw IoError(fmt::format(
            "'{}' does not hold what was written to it: bytes {} to {} of '{}' read back "
            "differently (a failing disk, cable or memory). Try: another disk or node",
            file.string(), part.from, part.from + part.bytes, name_of(layout, part.item)));
      }
    }
  }
}

}  // namespace sherd::io
