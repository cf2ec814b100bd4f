#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sherd::io {

/// Who passes a place in a save.
enum class CrashScope : std::uint8_t {
  rank_zero,
  node_leader,  ///< the rank that writes a file's HDF5 structure
  every_rank,
  retention,  ///< rank 0, in a save that deletes an older one
  overwrite   ///< rank 0, in a save that replaces a committed one
};

struct CrashPlace {
  std::string_view name;
  CrashScope scope = CrashScope::rank_zero;
};

/// Where a save can be made to end, in the order in which it gets there.
inline constexpr std::array kCrashPlaces = {
    CrashPlace{"before_mkdir", CrashScope::rank_zero},
    CrashPlace{"after_mkdir", CrashScope::rank_zero},
    CrashPlace{"after_folders", CrashScope::rank_zero},
    CrashPlace{"after_staging", CrashScope::every_rank},
    CrashPlace{"before_index", CrashScope::rank_zero},
    CrashPlace{"after_index", CrashScope::rank_zero},
    CrashPlace{"after_plan", CrashScope::rank_zero},
    CrashPlace{"after_structure", CrashScope::node_leader},
    CrashPlace{"during_write", CrashScope::every_rank},
    CrashPlace{"after_write", CrashScope::every_rank},
    CrashPlace{"after_sync", CrashScope::every_rank},
    CrashPlace{"before_vote", CrashScope::every_rank},
    CrashPlace{"vote_unnamed", CrashScope::every_rank},  // written, not under its name yet
    CrashPlace{"after_vote", CrashScope::every_rank},
    CrashPlace{"after_votes", CrashScope::rank_zero},
    CrashPlace{"manifest_unnamed", CrashScope::rank_zero},
    CrashPlace{"before_rename", CrashScope::rank_zero},
    CrashPlace{"during_swap", CrashScope::overwrite},  // the old one lies under the new one's name
    CrashPlace{"after_rename", CrashScope::rank_zero},
    CrashPlace{"during_tidy", CrashScope::rank_zero},
    CrashPlace{"before_latest", CrashScope::rank_zero},
    CrashPlace{"latest_unnamed", CrashScope::rank_zero},
    CrashPlace{"after_latest", CrashScope::rank_zero},
    CrashPlace{"before_retention", CrashScope::rank_zero},
    CrashPlace{"during_retention", CrashScope::retention},  // renamed, not deleted yet
    CrashPlace{"after_retention", CrashScope::rank_zero},
};

/// Ends the process at once, as SIGKILL would, when the environment variable SHERD_CRASH_POINT
/// names this place ("before_rename") or this place on this rank ("before_vote:1"). For crash
/// tests.
void crash_point(std::string_view place, int rank) noexcept;

/// Throws ConfigError when SHERD_CRASH_POINT is set to something that is no place.
void check_crash_point();

}  // namespace sherd::io
