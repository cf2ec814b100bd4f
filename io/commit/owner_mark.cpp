#include "io/commit/owner_mark.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

#include "io/commit/folder.hpp"
#include "io/disk/file_ops.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/json.hpp"

namespace sherd::io {
namespace {

using Json = nlohmann::json;

std::string from_environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

std::string now_as_text() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32] = {};
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

std::string json_of(const OwnerMark& mark) {
  const ProcessIdentity& process = mark.process;
  const Json json = {{"uuid", mark.uuid},
                     {"host", process.host},
                     {"boot", process.boot},
                     {"pid_namespace", process.pid_namespace},
                     {"pid", process.pid},
                     {"started", process.started},
                     {"since", mark.since},
                     {"slurm_job", mark.slurm_job},
                     {"slurm_restart", mark.slurm_restart}};
  return json.dump() + "\n";
}

OwnerMark owner_of(const std::string& text) {
  const Json json = parse_json_or_null<Json>(text);
  if (!json.is_object()) {
    return {};
  }
  try {
    return {json.at("uuid").get<std::string>(),
            {json.at("host").get<std::string>(), json.at("boot").get<std::string>(),
             json.at("pid").get<std::int64_t>(), json.at("started").get<std::int64_t>(),
             json.at("pid_namespace").get<std::string>()},
            json.at("since").get<std::string>(),
            json.at("slurm_job").get<std::string>(),
            json.at("slurm_restart").get<std::int64_t>()};
  } catch (const Json::exception&) {
    return {};
  }
}

/// Of a file of a few hundred bytes; what is longer is no mark.
std::string read_start(int fd, const std::filesystem::path& path) {
  std::string text(4096, '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  if (got < 0) {
    throw_errno("read", path);
  }
  text.resize(static_cast<std::size_t>(got));
  return text;
}

std::string stamp_of(int fd, const std::filesystem::path& path, const std::string& text) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    throw_errno("look at", path);
  }
  return fmt::format("{} {} {} {}", info.st_ino, info.st_mtim.tv_sec, info.st_mtim.tv_nsec, text);
}

}  // namespace

std::filesystem::path owner_mark_path(const std::filesystem::path& folder) {
  return folder / ".writer.json";
}

OwnerMark make_owner_mark() {
  const std::string restarts = from_environment("SLURM_RESTART_COUNT");
  return {make_uuid(), this_process(), now_as_text(), from_environment("SLURM_JOB_ID"),
          std::strtoll(restarts.c_str(), nullptr, 10)};
}

bool write_new_mark(const std::filesystem::path& folder, const OwnerMark& mark) {
  const std::filesystem::path path = owner_mark_path(folder);
  const auto fs = posix_file_system();
  const int fd = fs->open(path, O_WRONLY | O_CREAT | O_EXCL);
  if (fd < 0) {
    if (errno != EEXIST) {
      throw_errno("create", path);
    }
    return false;
  }
  fs->close(fd);
  const std::string text = json_of(mark);
  try {
    File(*fs, path, O_WRONLY).write_at(std::as_bytes(std::span(text)), 0);
  } catch (const IoError&) {  // a full disk still has room for a name: one that says nothing
    ::unlink(path.c_str());
    throw;
  }
  return true;
}

std::optional<MarkSeen> look_at_mark(const std::filesystem::path& folder) {
  const std::filesystem::path path = owner_mark_path(folder);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    if (errno != ENOENT) {
      throw_errno("open", path);
    }
    return std::nullopt;
  }
  try {
    const std::string text = read_start(fd, path);
    MarkSeen seen{owner_of(text), stamp_of(fd, path, text)};
    ::close(fd);
    return seen;
  } catch (...) {
    ::close(fd);
    throw;
  }
}

bool renew_mark(const std::filesystem::path& folder, const std::string& uuid) {
  const auto seen = look_at_mark(folder);
  if (!seen || seen->mark.uuid != uuid) {
    return false;
  }
  const std::filesystem::path path = owner_mark_path(folder);
  if (::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) != 0) {
    throw_errno("touch", path);
  }
  return true;
}

bool has_surely_ended(const OwnerMark& mark) {
  if (mark.uuid.empty()) {
    return false;
  }
  if (shares_process_numbers(mark.process)) {
    return state_of(mark.process) == ProcessState::gone;
  }
  // Slurm ends all of a job before it starts the job again.
  const OwnerMark self = make_owner_mark();
  return !mark.slurm_job.empty() && mark.slurm_job == self.slurm_job &&
         mark.slurm_restart < self.slurm_restart;
}

std::string describe(const OwnerMark& mark) {
  if (mark.uuid.empty()) {
    return "a program that has not said who it is";
  }
  const std::string job = mark.slurm_job.empty() ? "" : ", Slurm job " + mark.slurm_job;
  return fmt::format("process {} on host {} since {}{}", mark.process.pid, mark.process.host,
                     mark.since, job);
}

}  // namespace sherd::io
