#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_system.hpp"
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
[[nodiscard]] std::optional<InFlightName> parse_in_flight_name(std::string_view name);

/// 32 hexadecimal digits of the system's randomness.
[[nodiscard]] std::string make_uuid();

/// Step folders by step, then folders in flight by step.
[[nodiscard]] std::vector<CheckpointInfo> scan_folders(const std::filesystem::path& directory);

/// Out of sight by one rename, then removed. Missing is fine.
void remove_folder(FileSystem& fs, const std::filesystem::path& folder);

/// Renames a damaged checkpoint to ".bad-<name>" (or -2, -3 ...); returns the new path.
std::filesystem::path set_aside(FileSystem& fs, const std::filesystem::path& folder);

/// Deletes the oldest committed checkpoints beyond `keep_last` (0 keeps all), never `just_saved`.
void apply_retention(FileSystem& fs, const std::filesystem::path& directory, int keep_last,
                     std::int64_t just_saved);

/// Finishes or removes what an interrupted program left: fully voted folders are committed, the
/// rest is deleted, unless its writer still runs on this host. Returns one line for each.
[[nodiscard]] std::vector<std::string> clean_up(FileSystem& fs,
                                                const std::filesystem::path& directory);

}  // namespace sherd::io
