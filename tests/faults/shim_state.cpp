#include "faults/shim_state.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "faults/fault_shim.hpp"

namespace sherd::faults {
namespace {

struct Fault {
  std::string call;
  int from = 0;
  bool lasting = false;
  What what = What::none;
  int rank = -1;
};

/// Everything the interposed functions share. Never destroyed: they are called until the end.
struct Shim {
  std::recursive_mutex mutex;
  std::string root;
  std::string log_path;
  int log = -1;
  Fault fault;
  int calls = 0;
  bool fired = false;
  int rank = 0;
};

void read_fault(Shim& shim, const char* text);

Shim& shim() {
  static Shim* const made = [] {
    auto* fresh = new Shim;
    const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
    fresh->rank = rank == nullptr ? 0 : std::atoi(rank);
    const char* root = std::getenv("SHERD_SHIM_ROOT");
    fresh->root = root == nullptr ? "" : root;
    const char* log = std::getenv("SHERD_SHIM_LOG");
    fresh->log_path = log == nullptr ? "" : log;
    read_fault(*fresh, std::getenv("SHERD_SHIM_FAULT"));
    return fresh;
  }();
  return *made;
}

void read_fault(Shim& state, const char* text) {
  state.fault = {};
  state.calls = 0;
  state.fired = false;
  if (text == nullptr) {
    return;
  }
  std::vector<std::string> parts;
  for (std::string_view left = text;; left = left.substr(left.find(':') + 1)) {
    parts.emplace_back(left.substr(0, left.find(':')));
    if (left.find(':') == std::string_view::npos) {
      break;
    }
  }
  parts.resize(4);
  state.fault.call = parts[0];
  state.fault.from = std::atoi(parts[1].c_str());
  state.fault.lasting = parts[1].find('+') != std::string::npos;
  state.fault.what = parts[2] == "EIO"      ? What::eio
                     : parts[2] == "ENOSPC" ? What::enospc
                     : parts[2] == "short"  ? What::shorter
                                            : What::kill;
  state.fault.rank = parts[3].empty() ? -1 : std::atoi(parts[3].c_str());
}

/// The path below the root, or nothing of ours.
bool below_root(const std::string& path, std::string& relative) {
  const std::string& root = shim().root;
  if (root.empty() || path.compare(0, root.size(), root) != 0 ||
      (path.size() > root.size() && path[root.size()] != '/')) {
    return false;
  }
  relative = path.size() > root.size() ? path.substr(root.size() + 1) : "";
  return true;
}

std::string path_of_descriptor(int fd) {
  char link[64];
  char target[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t got = ::readlink(link, target, sizeof target);
  return got > 0 ? std::string(target, static_cast<std::size_t>(got)) : "";
}

std::string absolute(int folder, const char* path) {
  if (path[0] == '/') {
    return path;
  }
  char here[PATH_MAX];
  const std::string base = folder != AT_FDCWD                       ? path_of_descriptor(folder)
                           : ::getcwd(here, sizeof here) != nullptr ? here
                                                                    : "";
  return base + "/" + path;
}

void put(const void* data, std::size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t done = SHERD_REAL(write)(shim().log, from, bytes);
    if (done <= 0) {
      std::abort();
    }
    from += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

}  // namespace

bool ours(int folder, const char* path, std::string& relative) {
  return !shim().root.empty() && path != nullptr && below_root(absolute(folder, path), relative);
}

bool ours(int fd) {
  std::string ignored;
  return !shim().root.empty() && below_root(path_of_descriptor(fd), ignored);
}

What judge(const char* call) {
  Shim& state = shim();
  const std::lock_guard lock(state.mutex);
  const Fault& fault = state.fault;
  if (fault.what == What::none || (fault.rank >= 0 && fault.rank != state.rank) ||
      (fault.call != "any" && fault.call != call)) {
    return What::none;
  }
  ++state.calls;
  if (state.calls != fault.from && !(fault.lasting && state.calls > fault.from)) {
    return What::none;
  }
  state.fired = true;
  if (fault.what == What::kill) {
    ::kill(::getpid(), SIGKILL);
    ::pause();
  }
  return fault.what;
}

bool refused(const char* call) {
  const What what = judge(call);
  errno = what == What::eio ? EIO : what == What::enospc ? ENOSPC : errno;
  return what == What::eio || what == What::enospc;
}

std::uint64_t inode_of(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 ? info.st_ino : 0;
}

std::uint64_t inode_of(int folder, const char* path) {
  struct stat info {};
  return ::fstatat(folder, path, &info, AT_SYMLINK_NOFOLLOW) == 0 ? info.st_ino : 0;
}

Recording::Recording() {
  Shim& state = shim();
  if (state.log_path.empty()) {
    return;
  }
  state.mutex.lock();
  if (state.log < 0) {
    state.log =
        SHERD_REAL(open)(state.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  }
  locked_ = true;
  ::flock(state.log, LOCK_EX);
}

Recording::~Recording() {
  if (locked_) {
    const int kept = errno;
    ::flock(shim().log, LOCK_UN);
    shim().mutex.unlock();
    errno = kept;
  }
}

void Recording::write(OperationHeader header, std::string_view path, std::string_view other,
                      const void* data) const {
  if (!locked_) {
    return;
  }
  const int kept = errno;
  header.rank = shim().rank;
  header.path_bytes = static_cast<std::uint32_t>(path.size());
  header.other_bytes = static_cast<std::uint32_t>(other.size());
  put(&header, sizeof header);
  put(path.data(), path.size());
  put(other.data(), other.size());
  put(data, data == nullptr ? 0 : header.data_bytes);
  errno = kept;
}

}  // namespace sherd::faults

using sherd::faults::OperationHeader;
using sherd::faults::Recording;

extern "C" {

void sherd_shim_arm(const char* fault) {
  const std::lock_guard lock(sherd::faults::shim().mutex);
  sherd::faults::read_fault(sherd::faults::shim(), fault);
}

int sherd_shim_calls() {
  const std::lock_guard lock(sherd::faults::shim().mutex);
  return sherd::faults::shim().calls;
}

int sherd_shim_fired() {
  const std::lock_guard lock(sherd::faults::shim().mutex);
  return sherd::faults::shim().fired ? 1 : 0;
}

void sherd_shim_log(const char* root, const char* file) {
  const std::lock_guard lock(sherd::faults::shim().mutex);
  sherd::faults::shim().root = root == nullptr ? "" : root;
  sherd::faults::shim().log_path = file == nullptr ? "" : file;
}

void sherd_shim_note(const char* text) {
  const Recording recording;
  recording.write({.operation = sherd::faults::Operation::note}, text);
}

}  // extern "C"
