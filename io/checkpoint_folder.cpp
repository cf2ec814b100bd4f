#include "io/checkpoint_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <random>
#include <system_error>

#include "io/commit.hpp"
#include "io/file_ops.hpp"
#include "io/manifest.hpp"
#include "io/process_identity.hpp"
#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

namespace fs_std = std::filesystem;

constexpr std::string_view kStepPrefix = "step-";
constexpr std::string_view kInFlightPrefix = ".tmp-step-";
constexpr std::string_view kDeletePrefix = ".del-";

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc{} && end == text.data() + text.size() && value >= 0;
  return good ? std::optional(value) : std::nullopt;
}

std::vector<fs_std::path> hidden_folders(const fs_std::path& directory) {
  std::vector<fs_std::path> found;
  for (const auto& entry : fs_std::directory_iterator(directory)) {
    if (entry.path().filename().string().starts_with('.') && entry.is_directory()) {
      found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Whether the program that began this save still runs here (another one on the same directory).
bool writer_is_alive(const fs_std::path& folder) {
  try {
    const Manifest plan = read_manifest(folder / "plan.json");
    return plan.host == host_name() && plan.pid != ::getpid() && plan.started != 0 &&
           process_start(plan.pid) == plan.started;
  } catch (const Error&) {
    return false;
  }
}

std::string clean_up_in_flight(FileSystem& fs, const fs_std::path& directory,
                               const fs_std::path& folder) {
  const std::string name = folder.filename().string();
  if (writer_is_alive(folder)) {
    return fmt::format("'{}' belongs to a running program: left alone", name);
  }
  if (const auto committed = roll_forward(fs, directory, folder)) {
    return fmt::format("'{}' was complete but not committed: committed as '{}'", name,
                       committed->filename().string());
  }
  remove_folder(fs, folder);
  return fmt::format("'{}' was incomplete: removed", name);
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
  if (!step || dash == std::string_view::npos) {
    return std::nullopt;
  }
  return InFlightName{*step, std::string(name.substr(dash + 1))};
}

std::string make_uuid() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

std::vector<CheckpointInfo> scan_folders(const fs_std::path& directory) {
  std::vector<CheckpointInfo> complete;
  std::vector<CheckpointInfo> in_flight;
  for (const auto& entry : fs_std::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (const auto step = parse_step_name(name)) {
      complete.push_back({*step, entry.path(), fs_std::exists(entry.path() / "COMMITTED.json")});
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

void remove_folder(FileSystem& fs, const fs_std::path& folder) {
  if (!fs_std::exists(folder)) {
    return;
  }
  const fs_std::path hidden =
      folder.parent_path() /
      fmt::format("{}{}-{}", kDeletePrefix, folder.filename().string(), make_uuid());
  rename_path(fs, folder, hidden);
  std::error_code ignored;  // what is left is removed at the next start
  fs_std::remove_all(hidden, ignored);
}

fs_std::path set_aside(FileSystem& fs, const fs_std::path& folder) {
  const std::string base = ".bad-" + folder.filename().string();
  fs_std::path target = folder.parent_path() / base;
  for (int i = 2; fs_std::exists(target); ++i) {
    target = folder.parent_path() / fmt::format("{}-{}", base, i);
  }
  rename_path(fs, folder, target);
  sync_directory(fs, folder.parent_path());
  return target;
}

void apply_retention(FileSystem& fs, const fs_std::path& directory, int keep_last,
                     std::int64_t just_saved) {
  if (keep_last == 0) {
    return;
  }
  std::vector<CheckpointInfo> committed = scan_folders(directory);
  std::erase_if(committed, [](const CheckpointInfo& info) { return !info.committed; });
  int surplus = static_cast<int>(committed.size()) - keep_last;
  for (const CheckpointInfo& info : committed) {
    if (surplus > 0 && info.step != just_saved) {
      remove_folder(fs, info.path);
      --surplus;
    }
  }
}

std::vector<std::string> clean_up(FileSystem& fs, const fs_std::path& directory) {
  std::vector<std::string> notes;
  for (const fs_std::path& folder : hidden_folders(directory)) {
    const std::string name = folder.filename().string();
    if (name.starts_with(kDeletePrefix)) {
      std::error_code ignored;
      fs_std::remove_all(folder, ignored);
    } else if (parse_in_flight_name(name)) {
      notes.push_back(clean_up_in_flight(fs, directory, folder));
    }
  }
  return notes;
}

}  // namespace sherd::io
