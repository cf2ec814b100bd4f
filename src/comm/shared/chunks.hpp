#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "comm/memory/pieces.hpp"
#include "comm/memory/stream_copy.hpp"
#include "comm/reduce/reduce.hpp"

namespace sherd::comm {

/// Up to this size the ranks do not ask each other first where their buffers are: the data travels
/// with the question.
inline constexpr std::size_t kSmallBytes = std::size_t{32} << 10;

/// From this size on staging memory is filled past the caches.
inline constexpr std::size_t kStagePastCaches = std::size_t{16} << 10;

/// Whether a result of `bytes` bytes is better written past the caches.
[[nodiscard]] inline Destination destination_of(std::size_t bytes) {
  return bytes >= kStreamBytes ? Destination::memory : Destination::caches;
}

inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0 && to != from) {
    for_pieces(bytes, [&](std::size_t first, std::size_t count) {
      std::memcpy(static_cast<std::byte*>(to) + first, static_cast<const std::byte*>(from) + first,
                  count);
    });
  }
}

/// A part of a result that goes to `destination` as a whole.
inline void copy_out(void* to, const void* from, std::size_t bytes, Destination destination) {
  if (destination == Destination::memory) {
    stream_copy(to, from, bytes);
  } else {
    copy_bytes(to, from, bytes);
  }
}

/// Fills staging memory for another core to read. Lines that are dirty in this core's caches come
/// to a core of another die at little more than 1 GB/s; lines in memory come at memory speed.
inline void stage(void* staging, const void* from, std::size_t bytes) {
  if (bytes >= kStagePastCaches) {
    stream_copy(staging, from, bytes);
  } else {
    copy_bytes(staging, from, bytes);
  }
}

/// How many elements of `width` bytes fit in `bytes`, in whole cache lines, at least one line.
[[nodiscard]] inline std::size_t elements_in_lines(std::size_t bytes, std::size_t width) {
  constexpr std::size_t kLine = 64;
  return std::max<std::size_t>(1, bytes / kLine) * kLine / width;
}

/// [0, count) cut into `ranks` parts of whole cache lines; the last ones may be short or empty.
struct EvenParts {
  std::size_t count;
  std::size_t part;

  EvenParts(std::size_t elements, std::size_t ranks, std::size_t width)
      : count(elements), part(elements_in_lines((elements / ranks + 1) * width + 63, width)) {}

  [[nodiscard]] std::size_t begin(std::size_t rank) const { return std::min(count, rank * part); }
  [[nodiscard]] std::size_t end(std::size_t rank) const { return begin(rank + 1); }
  [[nodiscard]] std::size_t size(std::size_t rank) const { return end(rank) - begin(rank); }
};

}  // namespace sherd::comm
