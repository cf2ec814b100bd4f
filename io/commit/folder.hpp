#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/disk/file_system.hpp"
#include "sherd/io/checkpointer.hpp"

/// Names and housekeeping of a checkpoint directory. Called by one rank at a time. Hidden names are
/// not checkpoints: ".tmp-" in flight, ".bad-" set aside, ".del-" being deleted.
namespace sherd::io {

/// "step-00001200"
[[nodiscard]] std::string step_name(std::int64_t step);
/// The inverse; nullopt for other names.
[[nodiscard]] std::optional<std::int64_t> parse_step_name(std::string_view name);

struct InFlightName {
  std::int64_t step = 0;
  std::string uuid;
};
/// ".tmp-step-00001200-<uuid>"
[[nodiscard]] std::string in_flight_name(const InFlightName& name);
/// The inverse; nullopt for other names and for anything but a uuid of make_uuid() in them.
[[nodiscard]] std::optional<InFlightName> parse_in_flight_name(std::string_view name);

/// 32 hexadecimal digits of the system's randomness.
[[nodiscard]] std::string make_uuid();
/// A folder being deleted, ".del-<name>-<uuid>".
[[nodiscard]] bool is_deleted_name(std::string_view name);
/// A checkpoint set aside as damaged, ".bad-step-00001200", or with "-2", "-3" ... behind it.
[[nodiscard]] bool is_set_aside_name(std::string_view name);
/// A file of a moment, ".template-<uuid>..." or ".probe-<uuid>...".
[[nodiscard]] bool is_scratch_name(std::string_view name);

/// Rank 0, first of all in a save: makes the folder it goes to, with `shards` and `votes`; syncs
/// nothing, for training waits for it. Throws IoError when that cannot be done, or, before anything
/// is written, when the step is committed already and `overwrite` is not set.
void open_in_flight(FileSystem& fs, const std::filesystem::path& directory,
                    const InFlightName& name, bool overwrite);

/// Step folders by step, then folders in flight by step. Those that vanish meanwhile are left out.
[[nodiscard]] std::vector<CheckpointInfo> scan_folders(const std::filesystem::path& directory);

/// Out of sight by one rename, then removed. Missing is fine. `crash_place` lies in between.
void remove_folder(FileSystem& fs, const std::filesystem::path& folder,
                   std::string_view crash_place = {});

/// Renames a damaged checkpoint to ".bad-<name>" (or -2, -3 ...); returns the new path.
std::filesystem::path set_aside(FileSystem& fs, const std::filesystem::path& folder);

/// Removes from a committed checkpoint what only its commit needed. Never throws.
void tidy_committed(const std::filesystem::path& folder) noexcept;

}  // namespace sherd::io
