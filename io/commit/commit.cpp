// The end of a save: votes become a manifest, the manifest a name that loads look for.
#include "io/commit/commit.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "io/commit/folder.hpp"
#include "io/commit/poll_until.hpp"
#include "io/disk/crash_point.hpp"
#include "io/disk/file_ops.hpp"
#include "io/disk/positioned_reader.hpp"
#include "io/format/meta_fields.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/log.hpp"

namespace sherd::io {
namespace {

namespace fs_std = std::filesystem;
using Seconds = std::chrono::duration<double>;

fs_std::path failure_path(const fs_std::path& folder) { return folder / "votes" / "FAILED"; }

std::string missing_ranks(const std::vector<std::optional<Vote>>& votes) {
  std::vector<std::size_t> missing;
  for (std::size_t rank = 0; rank < votes.size(); ++rank) {
    if (!votes[rank]) {
      missing.push_back(rank);
    }
  }
  return fmt::format("{}", fmt::join(missing, ", "));
}

bool collect_votes(const fs_std::path& folder, const std::string& uuid,
                   std::vector<std::optional<Vote>>& votes) {
  bool all = true;
  for (std::size_t rank = 0; rank < votes.size(); ++rank) {
    if (!votes[rank]) {
      votes[rank] = find_vote(folder, static_cast<int>(rank), uuid);
    }
    if (votes[rank] && !votes[rank]->ok) {
      throw IoError(fmt::format("rank {} could not save its part: {}", rank, votes[rank]->error));
    }
    all = all && votes[rank].has_value();
  }
  return all;
}

std::vector<Vote> unwrap(const std::vector<std::optional<Vote>>& votes) {
  std::vector<Vote> result;
  for (const auto& vote : votes) {
    result.push_back(*vote);
  }
  return result;
}

/// Puts `folder` in the place of a committed checkpoint of the same step. At every moment the name
/// stands for the old or the new one, or (where the file system cannot swap names) the new one is
/// found by roll_forward(), for COMMITTED.json is already in the folder.
void replace(FileSystem& fs, const fs_std::path& folder, const fs_std::path& target) {
  if (exchange_paths(fs, folder, target)) {
    crash_point("during_swap", 0);
    sync_directory(fs, target.parent_path());
    remove_folder(fs, folder);  // what lies there now is the old one
    return;
  }
  remove_folder(fs, target, "during_swap");
  rename_path(fs, folder, target);
}

/// What has appeared since the save began stays, and so does what the user has not said to
/// overwrite: it may be the only checkpoint of another run.
void require_replaceable(const fs_std::path& target, const Manifest& manifest) {
  const Manifest there = read_manifest(target / "COMMITTED.json");
  if (there.uuid != manifest.lineage.replaces &&
      !is_on_line(manifest.lineage, manifest.step, there.lineage.run, there.step)) {
    throw IoError(fmt::format(
        "'{}' is a checkpoint that another run has written (it would be lost). Try: another "
        "checkpoint directory",
        target.string()));
  }
}

/// The rename that commits.
void publish(FileSystem& fs, const fs_std::path& folder, const fs_std::path& target,
             const Manifest& manifest) {
  crash_point("before_rename", 0);
  if (!rename_to_new(fs, folder, target)) {
    if (is_there(target / "COMMITTED.json")) {
      require_replaceable(target, manifest);
      replace(fs, folder, target);
    } else {
      set_aside(fs, target);
      rename_path(fs, folder, target);
    }
  }
  crash_point("after_rename", 0);
  sync_directory(fs, target.parent_path());
}

void tidy(FileSystem& fs, const fs_std::path& directory, const fs_std::path& target) {
  tidy_committed(target);
  try {
    crash_point("before_latest", 0);
    write_text_durably(fs, directory / "LATEST", target.filename().string() + "\n",
                       [] { crash_point("latest_unnamed", 0); });
    crash_point("after_latest", 0);
  } catch (const Error& error) {
    log::warning(
        fmt::format("checkpoint '{}' is committed, but: {}", target.string(), error.what()));
  }
}

/// The rest of a commit that ended after COMMITTED.json had its name.
fs_std::path finish_commit(FileSystem& fs, const fs_std::path& directory,
                           const fs_std::path& folder, const Manifest& manifest) {
  File(fs, folder / "COMMITTED.json", O_RDONLY).sync();
  sync_directory(fs, folder);
  const fs_std::path target = directory / step_name(manifest.step);
  publish(fs, folder, target, manifest);
  tidy(fs, directory, target);
  return target;
}

}  // namespace

Manifest complete_manifest(Manifest plan, const std::vector<Vote>& votes) {
  std::vector<std::size_t> next(votes.size(), 0);
  std::vector<std::size_t> next_block(votes.size(), 0);
  const auto take = [&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    if (index >= votes.size() || next[index] >= votes[index].crc32c.size()) {
      throw DamagedError(fmt::format("the vote of rank {} has too few digests", rank));
    }
    return votes[index].crc32c[next[index]++];
  };
  for (TensorRecord& tensor : plan.tensors) {
    for (PieceRecord& piece : tensor.pieces) {
      piece.crc32c = take(piece.rank);
      if (piece.block) {
        const auto rank = static_cast<std::size_t>(piece.rank);
        if (next_block[rank] >= votes[rank].parts_crc32c.size()) {
          throw DamagedError(fmt::format("the vote of rank {} has too few blocks", rank));
        }
        piece.parts_crc32c = votes[rank].parts_crc32c[next_block[rank]++];
      }
    }
  }
  for (BlobRecord& blob : plan.blobs) {
    blob.crc32c = blob.bytes == 0 ? 0 : take(blob.rank);
  }
  for (std::size_t rank = 0; rank < votes.size(); ++rank) {
    if (next[rank] != votes[rank].crc32c.size()) {
      throw DamagedError(fmt::format("the vote of rank {} has too many digests", rank));
    }
  }
  plan.timing.clear();
  for (const Vote& vote : votes) {
    plan.timing.push_back(vote.timing);
  }
  return plan;
}

std::vector<Vote> wait_for_votes(const fs_std::path& folder, int world_size,
                                 const std::string& uuid, Seconds timeout) {
  std::vector<std::optional<Vote>> votes(static_cast<std::size_t>(world_size));
  const bool all = poll_until(timeout, [&] { return collect_votes(folder, uuid, votes); });
  if (!all) {
    throw IoError(fmt::format("rank(s) {} did not finish writing within {} s", missing_ranks(votes),
                              timeout.count()));
  }
  return unwrap(votes);
}

fs_std::path commit(FileSystem& fs, const fs_std::path& directory, const fs_std::path& folder,
                    const Manifest& manifest) {
  const fs_std::path target = directory / step_name(manifest.step);
  Manifest finished = manifest;
  write_timing(fs, folder, finished);
  write_text_durably(fs, folder / "COMMITTED.json", to_json(finished),
                     [] { crash_point("manifest_unnamed", 0); });
  publish(fs, folder, target, finished);
  tidy(fs, directory, target);
  return target;
}

void note_failure(FileSystem& fs, const fs_std::path& folder, const std::string& message) noexcept {
  try {
    try {
      write_text_durably(fs, failure_path(folder), message);
    } catch (const IoError&) {  // a full disk still has room for a name
      const File empty(fs, failure_path(folder), O_WRONLY | O_CREAT);
    }
  } catch (...) {
    // The other ranks' timeout tells them.
    log::warning("cannot tell the other ranks of a failed checkpoint: they will time out");
  }
}

void throw_if_failed(const fs_std::path& folder) {
  if (is_there(failure_path(folder))) {
    const std::string why = read_text(failure_path(folder));
    throw IoError(why.empty() ? "rank 0 could not commit and could not write down why" : why);
  }
}

bool has_failed(const fs_std::path& folder) { return is_there(failure_path(folder)); }

void wait_for_commit(const fs_std::path& directory, const fs_std::path& folder, std::int64_t step,
                     const std::string& uuid, Seconds timeout) {
  const bool decided = poll_until(timeout, [&] {
    throw_if_failed(folder);
    return !is_there(folder);
  });
  if (!decided) {
    throw IoError(fmt::format("rank 0 did not commit within {} s", timeout.count()));
  }
  const fs_std::path target = directory / step_name(step);
  if (read_manifest(target / "COMMITTED.json").uuid != uuid) {
    throw IoError(fmt::format("'{}' was written by another save", target.string()));
  }
}

std::optional<fs_std::path> roll_forward(FileSystem& fs, const fs_std::path& directory,
                                         const fs_std::path& folder) {
  const auto name = parse_in_flight_name(folder.filename().string());
  if (!name || is_there(failure_path(folder))) {
    return std::nullopt;
  }
  if (is_there(folder / "COMMITTED.json")) {
    const Manifest complete = read_manifest(folder / "COMMITTED.json");
    return complete.uuid == name->uuid && complete.step == name->step
               ? std::optional(finish_commit(fs, directory, folder, complete))
               : std::nullopt;
  }
  if (!is_there(folder / "plan.json")) {
    return std::nullopt;
  }
  const Manifest plan = read_manifest(folder / "plan.json");
  if (plan.uuid != name->uuid || plan.step != name->step) {
    return std::nullopt;
  }
  std::vector<Vote> votes;
  for (int rank = 0; rank < plan.world_size; ++rank) {
    std::optional<Vote> vote = find_vote(folder, rank, name->uuid);
    if (!vote || !vote->ok) {
      return std::nullopt;
    }
    votes.push_back(std::move(*vote));
  }
  return commit(fs, directory, folder, complete_manifest(plan, votes));
}

}  // namespace sherd::io
