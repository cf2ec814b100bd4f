#include "io/commit/committed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <tuple>

#include "io/commit/folder.hpp"
#include "io/disk/damaged.hpp"
#include "io/disk/file_ops.hpp"
#include "io/format/manifest.hpp"

namespace sherd::io {
namespace {

namespace fs_std = std::filesystem;

/// Sorted; throws IoError.
std::vector<fs_std::path> list_directory(const fs_std::path& directory) {
  std::vector<fs_std::path> paths;
  std::error_code error;
  fs_std::directory_iterator at(directory, error);
  for (const fs_std::directory_iterator end; !error && at != end; at.increment(error)) {
    paths.push_back(at->path());
  }
  if (error) {
    throw IoError(fmt::format("cannot list '{}': {}", directory.string(), error.message()));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<Committed> list_committed(const fs_std::path& directory) {
  std::vector<Committed> found;
  for (const fs_std::path& path : list_directory(directory)) {
    const auto step = parse_step_name(path.filename().string());
    if (step && is_there(path / "COMMITTED.json")) {
      found.push_back({*step, path});
    }
  }
  return found;
}

/// False when the folder was removed meanwhile.
bool read_identity(Committed& folder) {
  try {
    const Manifest manifest = read_manifest(folder.path / "COMMITTED.json");
    folder.stored_step = manifest.step;
    folder.uuid = manifest.uuid;
    folder.lineage = manifest.lineage;
  } catch (const DamagedError& error) {
    folder.damage = error.what();
    return is_there(folder.path / "COMMITTED.json");
  }
  return true;
}

/// The one saved last: by number, for clocks and steps may run backwards.
const Committed* head_of(const std::vector<Committed>& found) {
  const Committed* head = nullptr;
  for (const Committed& folder : found) {
    const auto order = [](const Committed& one) {
      return std::tuple(one.lineage.sequence, one.stored_step);
    };
    if (folder.damage.empty() && !folder.is_copy() &&
        (head == nullptr || order(*head) < order(folder))) {
      head = &folder;
    }
  }
  return head;
}

/// Why a folder with a good manifest is not for a load of the newest; empty when it is.
std::string why_not(const Committed& folder, const Committed* head,
                    const std::vector<Committed>& all) {
  const std::string name = folder.path.filename().string();
  if (folder.is_copy()) {
    return fmt::format("'{}' holds step {} (a copy, or renamed): passed over", name,
                       folder.stored_step);
  }
  if (is_on_line(head->lineage, head->stored_step, folder.lineage.run, folder.stored_step)) {
    return "";
  }
  if (is_given_up(folder, all)) {
    return fmt::format("'{}' was given up when a run went on from an earlier step: passed over",
                       name);
  }
  return folder.stored_step < head->stored_step
             ? ""
             : fmt::format("'{}' is of another run, and '{}' was saved later: passed over", name,
                           head->path.filename().string());
}

}  // namespace

bool is_given_up(const Committed& folder, const std::vector<Committed>& all) {
  return std::any_of(all.begin(), all.end(), [&](const Committed& later) {
    const std::vector<PastRun>& past = later.lineage.past;
    return later.lineage.sequence > folder.lineage.sequence &&
           std::any_of(past.begin(), past.end(), [&](const PastRun& one) {
             return one.run == folder.lineage.run && one.until < folder.stored_step;
           });
  });
}

std::vector<Committed> read_committed(const fs_std::path& directory) {
  std::vector<Committed> found = list_committed(directory);
  std::erase_if(found, [](Committed& folder) { return !read_identity(folder); });
  return found;
}

std::string committed_names(const fs_std::path& directory) {
  std::string names;
  for (const Committed& folder : list_committed(directory)) {
    names += folder.path.filename().string() + "\n";
  }
  return names;
}

Candidates choose_candidates(const std::vector<Committed>& found) {
  Candidates chosen;
  const Committed* head = head_of(found);
  for (const Committed& folder : found) {
    const std::string problem = folder.damage.empty() ? why_not(folder, head, found) : "";
    if (problem.empty()) {
      chosen.tried.push_back(folder);
    } else {
      chosen.notes.push_back(problem);
    }
  }
  std::reverse(chosen.tried.begin(), chosen.tried.end());
  return chosen;
}

std::vector<std::string> remains_of_checkpoints(const fs_std::path& directory) {
  std::vector<std::string> names;
  for (const fs_std::path& path : list_directory(directory)) {
    const std::string name = path.filename().string();
    if (parse_step_name(name) || is_set_aside_name(name)) {
      names.push_back(name);
    }
  }
  return names;
}

}  // namespace sherd::io
