#pragma once

#include <string_view>

namespace sherd::io {

/// Ends the process at once, as SIGKILL would, when the environment variable SHERD_CRASH_POINT
/// names this place ("before_rename") or this place on this rank ("before_vote:1"). For crash
/// tests. Places: after_staging, during_write, before_vote, after_votes, before_rename,
/// after_rename.
void crash_point(std::string_view place, int rank) noexcept;

}  // namespace sherd::io
