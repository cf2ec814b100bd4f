#include "tensor/host_bytes.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "sherd/runtime/team.hpp"

namespace sherd {
namespace {

/// What a thread takes at a time; a multiple of a page, so that no two touch one first.
constexpr std::size_t kPiece = std::size_t{256} << 10;

template <class F>
void for_pieces(std::size_t bytes, const F& f) {
  const std::size_t pieces = (bytes + kPiece - 1) / kPiece;
  runtime::for_blocks(static_cast<std::int64_t>(pieces), [&](std::int64_t piece) {
    const std::size_t first = static_cast<std::size_t>(piece) * kPiece;
    f(first, std::min(kPiece, bytes - first));
  });
}

bool overlap(const std::byte* a, const std::byte* b, std::size_t bytes) {
  return a < b + bytes && b < a + bytes;
}

}  // namespace

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (overlap(to, from, bytes)) {
    std::memmove(to, from, bytes);
    return;
  }
  for_pieces(bytes, [&](std::size_t first, std::size_t count) {
    std::memcpy(to + first, from + first, count);
  });
}

void clear_bytes(std::byte* to, std::size_t bytes) {
  for_pieces(bytes,
             [&](std::size_t first, std::size_t count) { std::memset(to + first, 0, count); });
}

}  // namespace sherd
