#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "io/disk/process_identity.hpp"

/// .writer.json: whose a folder is. The file is made with O_EXCL, which every file system has: two
/// programs cannot both have made it.
namespace sherd::io {

struct OwnerMark {
  std::string uuid;
  ProcessIdentity process;
  std::string since;           ///< by the owner's clock; for people
  std::string slurm_job = {};  ///< empty outside Slurm
  std::int64_t slurm_restart = 0;
};

[[nodiscard]] std::filesystem::path owner_mark_path(const std::filesystem::path& folder);

/// Of this process, now.
[[nodiscard]] OwnerMark make_owner_mark();

/// False when there is one already. Throws IoError.
[[nodiscard]] bool write_new_mark(const std::filesystem::path& folder, const OwnerMark& mark);

/// What is seen of a mark. Two looks that differ in `stamp` have a renewal between them, whatever
/// the clocks say.
struct MarkSeen {
  OwnerMark mark;  ///< with an empty uuid when the file does not say (being written, or damaged)
  std::string stamp;
};
/// nullopt when there is none. Throws IoError when it cannot be looked at.
[[nodiscard]] std::optional<MarkSeen> look_at_mark(const std::filesystem::path& folder);

/// Touches the mark if it is still the one of `uuid`; false when it is another's or gone.
[[nodiscard]] bool renew_mark(const std::filesystem::path& folder, const std::string& uuid);

/// Whether the process that made the mark has certainly ended.
[[nodiscard]] bool has_surely_ended(const OwnerMark& mark);

/// "process 17 on host a since 2026-01-01 12:00:00 UTC, Slurm job 42"
[[nodiscard]] std::string describe(const OwnerMark& mark);

}  // namespace sherd::io
