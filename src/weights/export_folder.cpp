#include "weights/export_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "sherd/base/check.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/json.hpp"
#include "sherd/base/regular_file.hpp"
#include "sherd/io/consolidate.hpp"

namespace sherd::weights {
namespace {

namespace fs = std::filesystem;

constexpr const char* kList = "sherd_export.json";
constexpr std::uint64_t kLargestList = std::uint64_t{16} << 20;

bool is_same_folder(const fs::path& a, const fs::path& b) {
  std::error_code unknown;
  return !a.empty() && !b.empty() && fs::equivalent(a, b, unknown) && !unknown;
}

/// Beside the target, under a name of this process alone.
fs::path work_folder(const fs::path& target) {
  fs::path parent = target.parent_path();
  parent = parent.empty() ? "." : parent;
  std::string name = fmt::format("{}/.{}.tmp-XXXXXX", parent.string(), target.filename().string());
  validate(::mkdtemp(name.data()) != nullptr, [&] {
    return fmt::format("{}: no folder can be made there ({}). Try: another folder", parent.string(),
                       std::generic_category().message(errno));
  });
  fs::permissions(name,
                  fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read |
                      fs::perms::others_exec,
                  fs::perm_options::add);
  return name;
}

/// Asked before hours of writing, not after.
void require_usable(const fs::path& target) {
  std::error_code unknown;
  const bool named = fs::exists(fs::symlink_status(target, unknown));
  validate(!named || fs::is_directory(target, unknown), [&] {
    return fmt::format("{}: is no folder, or cannot be looked at. Try: another name",
                       target.string());
  });
  validate(!named || ::access(target.c_str(), R_OK | W_OK | X_OK) == 0, [&] {
    return fmt::format("{}: cannot be written to ({}). Try: another folder", target.string(),
                       std::generic_category().message(errno));
  });
}

void sync_folder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    ::fsync(fd);  // where a file system cannot, there is nothing more to do
    ::close(fd);
  }
}

/// The index of numbered parts comes last: without it nobody takes a mixture for a model.
bool is_index(const std::string& name) { return name.ends_with(".index.json"); }

/// What an earlier export says it wrote; "" when there is no such file.
std::string list_in(const fs::path& folder) {
  try {
    return read_small_file(folder / kList, kLargestList, {"", ""});
  } catch (const UnreadableFile&) {
    return {};
  }
}

}  // namespace

ExportFolder::ExportFolder(fs::path target, const fs::path& source, const fs::path& base)
    : target_(std::move(target)) {
  if (target_.filename().empty()) {
    target_ = target_.parent_path();
  }
  require_usable(target_);
  io::refuse_inside_checkpoint(target_);
  validate(!is_same_folder(target_, source), [&] {
    return fmt::format("{}: is the checkpoint itself. Try: another folder", target_.string());
  });
  validate(!is_same_folder(target_, base), [&] {
    return fmt::format(
        "{}: is the folder that the model began from (its weights would be "
        "replaced). Try: another folder",
        target_.string());
  });
  work_ = work_folder(target_);
}

ExportFolder::~ExportFolder() {
  std::error_code ignored;
  fs::remove_all(work_, ignored);
}

ExportFolder::Names ExportFolder::files_of_work() const {
  Names names;
  for (const auto& entry : fs::recursive_directory_iterator(work_)) {
    if (entry.is_regular_file()) {
      names.insert(fs::relative(entry.path(), work_).string());
    }
  }
  return names;
}

/// Of the list; names that lead out of the folder are nobody's.
ExportFolder::Names ExportFolder::earlier_files() const {
  Names names;
  const auto json = parse_json_or_null<nlohmann::json>(list_in(target_));
  if (!json.is_object() || !json.contains("files") || !json.at("files").is_array()) {
    return names;
  }
  for (const auto& name : json.at("files")) {
    const fs::path path = name.is_string() ? fs::path(name.get<std::string>()) : fs::path();
    const bool inside = !path.empty() && path.is_relative() &&
                        std::find(path.begin(), path.end(), "..") == path.end();
    if (inside) {
      names.insert(path.string());
    }
  }
  return names;
}

void ExportFolder::refuse_foreign(const Names& files, const Names& own) const {
  for (const std::string& name : files) {
    validate(own.count(name) != 0 || !fs::exists(fs::symlink_status(target_ / name)), [&] {
      return fmt::format(
          "{}: is there, and no export wrote it (it would be lost). Try: another "
          "folder",
          (target_ / name).string());
    });
  }
}

void ExportFolder::write_list(const Names& files) const {
  const fs::path temporary = work_ / kList;
  std::ofstream out(temporary);
  out << nlohmann::json{{"files", files}}.dump(1) << "\n";
  out.close();
  if (!out) {
    throw IoError(fmt::format("{}: cannot be written", temporary.string()));
  }
  fs::rename(temporary, target_ / kList);
}

void ExportFolder::move_in(const Names& files, const Names& own) const {
  for (const std::string& name : own) {
    if (is_index(name) || files.count(name) == 0) {
      fs::remove(target_ / name);
    }
  }
  for (const bool indices : {false, true}) {
    for (const std::string& name : files) {
      if (is_index(name) == indices) {
        fs::create_directories((target_ / name).parent_path());
        fs::rename(work_ / name, target_ / name);
      }
    }
  }
}

void ExportFolder::publish() {
  try {
    const Names files = files_of_work();
    const Names own = earlier_files();
    refuse_foreign(files, own);
    fs::create_directories(target_);
    Names both = files;
    both.insert(own.begin(), own.end());
    write_list(both);
    move_in(files, own);
    write_list(files);
    sync_folder(target_);
  } catch (const fs::filesystem_error& error) {
    throw IoError(fmt::format("{}: {}", target_.string(), error.what()));
  }
}

}  // namespace sherd::weights
