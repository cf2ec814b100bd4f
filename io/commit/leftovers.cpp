// What interrupted programs left: finished where every rank had voted, removed where nobody can.
#include "io/commit/leftovers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "io/commit/commit.hpp"
#include "io/commit/folder.hpp"
#include "io/commit/writer_mark.hpp"
#include "io/format/manifest.hpp"
#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

namespace fs_std = std::filesystem;

/// How long a folder of another machine must have been quiet before it counts as abandoned.
constexpr auto kAbandonedAfter = std::chrono::hours(1);

/// Entries of a directory; those that vanish meanwhile are no error.
std::vector<fs_std::path> entries_of(const fs_std::path& directory) {
  std::vector<fs_std::path> found;
  std::error_code ended;
  for (fs_std::directory_iterator at(directory, ended), end; !ended && at != end;
       at.increment(ended)) {
    found.push_back(at->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

fs_std::file_time_type last_change(const fs_std::path& path) {
  std::error_code gone;
  const auto time = fs_std::last_write_time(path, gone);
  return gone ? fs_std::file_time_type::min() : time;
}

bool was_quiet(const fs_std::path& folder) {
  auto newest = last_change(folder);
  for (const fs_std::path& entry : entries_of(folder)) {
    newest = std::max(newest, last_change(entry));
    for (const fs_std::path& file : entries_of(entry)) {
      newest = std::max(newest, last_change(file));
    }
  }
  return fs_std::file_time_type::clock::now() - newest > kAbandonedAfter;
}

/// A folder in flight that holds the checkpoint its own save has replaced.
bool holds_the_replaced_one(const fs_std::path& folder, const InFlightName& name) {
  try {
    return read_manifest(folder / "COMMITTED.json").uuid != name.uuid;
  } catch (const Error&) {
    return false;
  }
}

/// What became of a folder in flight; empty when it has been told before: the failure of a save of
/// this process.
std::string settle(FileSystem& fs, const fs_std::path& directory, const fs_std::path& folder,
                   const InFlightName& in_flight) {
  const std::string name = folder.filename().string();
  const auto writer = read_mark(folder, in_flight.uuid);
  const ProcessState state = writer ? state_of(*writer) : ProcessState::gone;
  if (state == ProcessState::running) {
    return fmt::format("'{}' belongs to a running program: left alone", name);
  }
  if (holds_the_replaced_one(folder, in_flight)) {
    remove_folder(fs, folder);
    return fmt::format("'{}' had been replaced: removed", name);
  }
  try {
    if (const auto committed = roll_forward(fs, directory, folder)) {
      return fmt::format("'{}' was complete but not committed: committed as '{}'", name,
                         committed->filename().string());
    }
  } catch (const IoError& error) {  // a reading by one rank is no reason to delete
    return fmt::format("'{}' is an interrupted save that cannot be finished: left alone: {}", name,
                       error.what());
  }
  if (state == ProcessState::elsewhere && !was_quiet(folder)) {
    return fmt::format(
        "'{}' is incomplete and belongs to a program on '{}' that may still run: left alone (it is "
        "removed an hour after its last change)",
        name, writer->host);
  }
  const bool told = writer && is_this_process(*writer) && has_failed(folder);
  remove_folder(fs, folder);
  return told ? "" : fmt::format("'{}' was incomplete: removed", name);
}

void remove_quietly(const fs_std::path& path) {
  std::error_code ignored;  // tried again at the next start
  fs_std::remove_all(path, ignored);
}

}  // namespace

std::vector<std::string> clean_up(FileSystem& fs, const fs_std::path& directory) {
  std::vector<std::string> notes;
  for (const fs_std::path& path : entries_of(directory)) {
    const std::string name = path.filename().string();
    if (const auto in_flight = parse_in_flight_name(name)) {
      if (std::string note = settle(fs, directory, path, *in_flight); !note.empty()) {
        notes.push_back(std::move(note));
      }
    } else if (is_deleted_name(name)) {
      remove_quietly(path);
    } else if (is_scratch_name(name) && was_quiet(path)) {
      remove_quietly(path);
    } else if (parse_step_name(name)) {
      tidy_committed(path);
    }
  }
  return notes;
}

}  // namespace sherd::io
