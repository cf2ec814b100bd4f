#pragma once

#include <cstdint>
#include <vector>

#include "io/hdf5/memory_image.hpp"

namespace sherd::io {

/// A dataset's raw bytes in a file.
struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  [[nodiscard]] std::uint64_t end() const noexcept { return offset + bytes; }
};

/// Bytes of a file at a fixed place.
struct Segment {
  std::uint64_t offset = 0;
  std::vector<std::byte> bytes;
};

/// An HDF5 file without its raw data: writing the segments into a file of zeros and the datasets at
/// their extents gives the file again.
struct FileTemplate {
  std::uint64_t bytes = 0;
  std::vector<Segment> structure;      ///< what lies outside the extents and is not zero
  std::uint32_t structure_crc32c = 0;  ///< of all bytes outside the extents, in file order
};

/// The parts of [0, file_bytes) that no extent covers, in order. `extents` sorted by offset.
[[nodiscard]] std::vector<Extent> gaps_between(const std::vector<Extent>& extents,
                                               std::uint64_t file_bytes);

/// Of a closed file.
[[nodiscard]] FileTemplate read_template(const hdf5::MemoryImage& image,
                                         std::vector<Extent> extents);

}  // namespace sherd::io
