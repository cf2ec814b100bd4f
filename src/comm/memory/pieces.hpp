#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sherd/runtime/team.hpp"

namespace sherd::comm {

/// What a thread of the rank's team copies or sums at a time: below two of them one thread is done
/// before a second has begun.
inline constexpr std::size_t kTeamPiece = std::size_t{64} << 10;

/// Calls f(first, count) for the pieces of `bytes` bytes, on the threads of the calling thread's
/// team. Elements never straddle two pieces.
template <class F>
void for_pieces(std::size_t bytes, const F& f) {
  if (bytes < 2 * kTeamPiece || runtime::team_threads() == 1) {
    return f(std::size_t{0}, bytes);
  }
  const std::size_t pieces = (bytes + kTeamPiece - 1) / kTeamPiece;
  runtime::for_blocks(static_cast<std::int64_t>(pieces), [&](std::int64_t piece) {
    const std::size_t first = static_cast<std::size_t>(piece) * kTeamPiece;
    f(first, std::min(kTeamPiece, bytes - first));
  });
}

}  // namespace sherd::comm
