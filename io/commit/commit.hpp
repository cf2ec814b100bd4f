#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/commit/vote.hpp"
#include "io/disk/file_system.hpp"
#include "io/format/manifest.hpp"

/// From votes to a committed checkpoint. Local calls that touch only files: safe in the background.
namespace sherd::io {

/// The plan with the votes' digests and timings filled in. Throws DamagedError when they do not
/// fit.
[[nodiscard]] Manifest complete_manifest(Manifest plan, const std::vector<Vote>& votes);

/// Rank 0: waits until every rank has voted. Throws IoError at once when one voted "failed", naming
/// it, and after `timeout`, naming the missing ones.
[[nodiscard]] std::vector<Vote> wait_for_votes(const std::filesystem::path& folder, int world_size,
                                               const std::string& uuid,
                                               std::chrono::duration<double> timeout);

/// Rank 0: COMMITTED.json, syncs, then the rename that makes `folder` the checkpoint of its step
/// (replacing an older one of the same line; another run's stays, and IoError says so). Returns the
/// final folder. Throws IoError; then nothing is committed.
std::filesystem::path commit(FileSystem& fs, const std::filesystem::path& directory,
                             const std::filesystem::path& folder, const Manifest& manifest);

/// Rank 0: tells the other ranks that the save failed. Never throws.
void note_failure(FileSystem& fs, const std::filesystem::path& folder,
                  const std::string& message) noexcept;

/// Throws IoError with the note of note_failure(), if there is one.
void throw_if_failed(const std::filesystem::path& folder);

/// Whether rank 0 has told that the save failed.
[[nodiscard]] bool has_failed(const std::filesystem::path& folder);

/// Other ranks: wait until rank 0 has committed the save `uuid`. Throws IoError with its failure
/// note, or after `timeout`.
void wait_for_commit(const std::filesystem::path& directory, const std::filesystem::path& folder,
                     std::int64_t step, const std::string& uuid,
                     std::chrono::duration<double> timeout);

/// Commits a folder that an interrupted program left if every rank had voted for it; nullopt when
/// one had not. Throws IoError when what is there cannot be read or may not be published: the
/// folder is as it was then.
[[nodiscard]] std::optional<std::filesystem::path> roll_forward(
    FileSystem& fs, const std::filesystem::path& directory, const std::filesystem::path& folder);

}  // namespace sherd::io
