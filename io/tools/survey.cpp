// sherd ckpt ls: every folder of a directory and the state it is in.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "io/commit/committed.hpp"
#include "io/commit/folder.hpp"
#include "io/format/manifest.hpp"
#include "sherd/base/error.hpp"
#include "sherd/io/inspect.hpp"

namespace sherd::io {
namespace {

namespace fs_std = std::filesystem;

constexpr std::string_view kSetAsidePrefix = ".bad-";

std::uint64_t bytes_below(const fs_std::path& folder) {
  std::error_code gone;
  std::uint64_t bytes = 0;
  fs_std::recursive_directory_iterator item(folder, gone);
  while (!gone && item != fs_std::recursive_directory_iterator()) {
    std::error_code one;
    if (item->is_regular_file(one)) {
      const std::uintmax_t size = item->file_size(one);
      bytes += one ? 0 : size;
    }
    item.increment(gone);
  }
  return bytes;
}

/// Seconds since 1970; nullopt when it is gone.
std::optional<std::int64_t> modified(const fs_std::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return std::nullopt;
  }
  return info.st_mtim.tv_sec;
}

/// "step-00000012" or "step-00000012-2" -> 12
std::optional<std::int64_t> step_set_aside(std::string_view name) {
  if (!name.starts_with(kSetAsidePrefix)) {
    return std::nullopt;
  }
  name.remove_prefix(kSetAsidePrefix.size());
  const auto second_dash = name.find('-', std::string_view("step-").size());
  return parse_step_name(name.substr(0, second_dash));
}

void add_manifest_facts(FolderInfo& info, const fs_std::path& file) {
  try {
    const Manifest manifest = read_manifest(file);
    info.ranks = manifest.world_size;
    info.stored_step = manifest.step;
    if (info.state == FolderState::committed && manifest.step != info.step) {
      info.state = FolderState::renamed;
    }
  } catch (const Error&) {
    if (info.state == FolderState::committed) {
      info.state = FolderState::damaged;
    }
  }
}

/// What a run left behind by going on from an earlier step.
void mark_given_up(const fs_std::path& directory, std::vector<FolderInfo>& found) {
  try {
    const std::vector<Committed> all = read_committed(directory);
    for (const Committed& folder : all) {
      const auto info = std::find_if(found.begin(), found.end(), [&](const FolderInfo& one) {
        return one.state == FolderState::committed && one.path == folder.path;
      });
      if (info != found.end() && is_given_up(folder, all)) {
        info->state = FolderState::given_up;
      }
    }
  } catch (const IoError&) {
    return;  // what can be seen is listed all the same
  }
}

std::optional<FolderInfo> describe(const fs_std::path& path) {
  const std::string name = path.filename().string();
  FolderInfo info;
  info.path = path;
  const char* manifest = "COMMITTED.json";
  if (const auto step = parse_step_name(name)) {
    info.step = *step;
    info.state = modified(path / manifest) ? FolderState::committed : FolderState::incomplete;
  } else if (const auto in_flight = parse_in_flight_name(name)) {
    info.step = in_flight->step;
    info.state = FolderState::in_flight;
    manifest = "plan.json";
  } else if (const auto bad = step_set_aside(name)) {
    info.step = *bad;
    info.state = FolderState::set_aside;
  } else {
    return std::nullopt;
  }
  info.stored_step = info.step;
  add_manifest_facts(info, path / manifest);
  info.pinned = modified(path / "PINNED").has_value();
  info.bytes = bytes_below(path);
  const auto written = modified(path / manifest);
  const auto still_there = modified(path);
  info.modified = written.value_or(still_there.value_or(0));
  return still_there ? std::optional(info) : std::nullopt;
}

}  // namespace

std::string_view to_string(FolderState state) noexcept {
  switch (state) {
    case FolderState::committed:
      return "committed";
    case FolderState::incomplete:
      return "incomplete";
    case FolderState::damaged:
      return "damaged";
    case FolderState::renamed:
      return "renamed";
    case FolderState::given_up:
      return "given up";
    case FolderState::in_flight:
      return "in flight";
    case FolderState::set_aside:
      return "set aside";
  }
  return "?";
}

std::vector<FolderInfo> survey_checkpoints(const fs_std::path& directory) {
  std::error_code error;
  fs_std::directory_iterator item(directory, error);
  if (error) {
    throw IoError(fmt::format("cannot list '{}': {}", directory.string(), error.message()));
  }
  std::vector<FolderInfo> found;
  for (; !error && item != fs_std::directory_iterator(); item.increment(error)) {
    if (auto info = describe(item->path())) {
      found.push_back(std::move(*info));
    }
  }
  mark_given_up(directory, found);
  const auto group = [](const FolderInfo& info) {
    return info.state == FolderState::in_flight || info.state == FolderState::set_aside;
  };
  std::sort(found.begin(), found.end(), [&](const FolderInfo& a, const FolderInfo& b) {
    return std::tuple(group(a), a.step, a.path) < std::tuple(group(b), b.step, b.path);
  });
  return found;
}

}  // namespace sherd::io
