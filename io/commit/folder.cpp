// Names below a checkpoint directory, and moving folders so that a kill leaves one of two names.
#include "io/commit/folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>
#include <system_error>

#include "io/commit/writer_mark.hpp"
#include "io/disk/crash_point.hpp"
#include "io/disk/file_ops.hpp"
#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

namespace fs_std = std::filesystem;

constexpr std::string_view kStepPrefix = "step-";
constexpr std::string_view kInFlightPrefix = ".tmp-step-";
constexpr std::string_view kDeletePrefix = ".del-";
constexpr std::string_view kSetAsidePrefix = ".bad-";

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc{} && end == text.data() + text.size() && value >= 0;
  return good ? std::optional(value) : std::nullopt;
}

constexpr std::size_t kUuidDigits = 32;

bool is_uuid(std::string_view text) {
  return text.size() == kUuidDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool exists_quietly(const fs_std::path& path) {
  std::error_code unknown;
  return fs_std::exists(path, unknown);
}

}  // namespace

std::string step_name(std::int64_t step) { return fmt::format("{}{:08}", kStepPrefix, step); }

std::optional<std::int64_t> parse_step_name(std::string_view name) {
  return name.starts_with(kStepPrefix) ? parse_number(name.substr(kStepPrefix.size()))
                                       : std::nullopt;
}

std::string in_flight_name(const InFlightName& name) {
  return fmt::format(".tmp-{}-{}", step_name(name.step), name.uuid);
}

std::optional<InFlightName> parse_in_flight_name(std::string_view name) {
  if (!name.starts_with(kInFlightPrefix)) {
    return std::nullopt;
  }
  name.remove_prefix(kInFlightPrefix.size());
  const auto dash = name.find('-');
  const auto step = parse_number(name.substr(0, dash));
  if (!step || dash == std::string_view::npos || !is_uuid(name.substr(dash + 1))) {
    return std::nullopt;
  }
  return InFlightName{*step, std::string(name.substr(dash + 1))};
}

bool is_deleted_name(std::string_view name) {
  return name.starts_with(kDeletePrefix) && name.size() > kUuidDigits &&
         is_uuid(name.substr(name.size() - kUuidDigits));
}

bool is_set_aside_name(std::string_view name) {
  return name.starts_with(kSetAsidePrefix) &&
         name.substr(kSetAsidePrefix.size()).starts_with(kStepPrefix);
}

bool is_scratch_name(std::string_view name) {
  for (const std::string_view prefix : {".template-", ".probe-"}) {
    if (name.starts_with(prefix) && is_uuid(name.substr(prefix.size(), kUuidDigits))) {
      return true;
    }
  }
  return false;
}

std::string make_uuid() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

void open_in_flight(FileSystem& fs, const fs_std::path& directory, const InFlightName& name,
                    bool overwrite) {
  const fs_std::path target = directory / step_name(name.step);
  if (!overwrite && is_there(target / "COMMITTED.json")) {
    throw IoError(fmt::format(
        "step {} is committed already in '{}' (another run's checkpoint would be lost). Try: "
        "another checkpoint directory, or overwrite = true",
        name.step, directory.string()));
  }
  const fs_std::path folder = directory / in_flight_name(name);
  crash_point("before_mkdir", 0);
  make_directory(fs, folder);
  write_mark(fs, folder, name.uuid);
  crash_point("after_mkdir", 0);
  make_directory(fs, folder / "shards");
  make_directory(fs, folder / "votes");
  crash_point("after_folders", 0);
}

std::vector<CheckpointInfo> scan_folders(const fs_std::path& directory) {
  std::vector<CheckpointInfo> complete;
  std::vector<CheckpointInfo> in_flight;
  for (const auto& entry : fs_std::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (const auto step = parse_step_name(name)) {
      const bool committed = exists_quietly(entry.path() / "COMMITTED.json");
      if (committed || exists_quietly(entry.path())) {
        complete.push_back({*step, entry.path(), committed});
      }
    } else if (const auto temporary = parse_in_flight_name(name)) {
      in_flight.push_back({temporary->step, entry.path(), false});
    }
  }
  const auto by_step = [](const auto& a, const auto& b) {
    return a.step != b.step ? a.step < b.step : a.path < b.path;
  };
  std::sort(complete.begin(), complete.end(), by_step);
  std::sort(in_flight.begin(), in_flight.end(), by_step);
  complete.insert(complete.end(), in_flight.begin(), in_flight.end());
  return complete;
}

void remove_folder(FileSystem& fs, const fs_std::path& folder, std::string_view crash_place) {
  if (!is_there(folder)) {
    return;
  }
  const fs_std::path hidden =
      folder.parent_path() /
      fmt::format("{}{}-{}", kDeletePrefix, folder.filename().string(), make_uuid());
  rename_path(fs, folder, hidden);
  crash_point(crash_place, 0);
  std::error_code ignored;  // what is left is removed at the next start
  fs_std::remove_all(hidden, ignored);
}

fs_std::path set_aside(FileSystem& fs, const fs_std::path& folder) {
  const std::string base = std::string(kSetAsidePrefix) + folder.filename().string();
  fs_std::path target = folder.parent_path() / base;
  for (int i = 2; is_there(target); ++i) {
    target = folder.parent_path() / fmt::format("{}-{}", base, i);
  }
  rename_path(fs, folder, target);
  sync_directory(fs, folder.parent_path());
  return target;
}

void tidy_committed(const fs_std::path& folder) noexcept {
  std::error_code ignored;
  if (!fs_std::exists(folder / "COMMITTED.json", ignored)) {
    return;
  }
  fs_std::remove_all(folder / "votes", ignored);
  crash_point("during_tidy", 0);
  fs_std::remove(folder / "plan.json", ignored);
  remove_mark(folder);
}

}  // namespace sherd::io
