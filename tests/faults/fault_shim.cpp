#include "faults/fault_shim.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "faults/operation_log.hpp"

// The C library's own functions, once each.
#define SHERD_REAL(name)                                  \
  reinterpret_cast<decltype(&::name)>([] {                \
    static void* const found = ::dlsym(RTLD_NEXT, #name); \
    return found;                                         \
  }())

namespace {

using sherd::faults::Operation;
using sherd::faults::OperationHeader;

enum class What { none, eio, enospc, shorter, kill };

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

bool ours(int folder, const char* path, std::string& relative) {
  return !shim().root.empty() && path != nullptr && below_root(absolute(folder, path), relative);
}

bool ours(int fd) {
  std::string ignored;
  return !shim().root.empty() && below_root(path_of_descriptor(fd), ignored);
}

/// What the fault says about the call being made.
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

/// True, and errno set, when the call is to fail.
bool refused(const char* call) {
  const What what = judge(call);
  errno = what == What::eio ? EIO : what == What::enospc ? ENOSPC : errno;
  return what == What::eio || what == What::enospc;
}

/// Holds the log, over processes too, while an operation and its record are made.
class Recording {
 public:
  Recording() {
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
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() {
    if (locked_) {
      const int kept = errno;
      ::flock(shim().log, LOCK_UN);
      shim().mutex.unlock();
      errno = kept;
    }
  }

  void write(OperationHeader header, std::string_view path, std::string_view other = {},
             const void* data = nullptr) const {
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
  [[nodiscard]] bool on() const { return locked_; }

 private:
  static void put(const void* data, std::size_t bytes) {
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

  bool locked_ = false;
};

std::uint64_t inode_of(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 ? info.st_ino : 0;
}

std::uint64_t inode_of(int folder, const char* path) {
  struct stat info {};
  return ::fstatat(folder, path, &info, AT_SYMLINK_NOFOLLOW) == 0 ? info.st_ino : 0;
}

int open_recorded(int folder, const char* path, int flags, mode_t mode) {
  std::string relative;
  const bool changes = (flags & (O_CREAT | O_TRUNC)) != 0;
  if (!ours(folder, path, relative)) {
    return SHERD_REAL(openat)(folder, path, flags, mode);
  }
  if ((flags & O_DIRECTORY) == 0 && (flags & O_ACCMODE) != O_RDONLY && refused("open")) {
    return -1;
  }
  if (!changes) {
    return SHERD_REAL(openat)(folder, path, flags, mode);
  }
  const Recording recording;
  const bool existed = inode_of(folder, path) != 0;
  const int fd = SHERD_REAL(openat)(folder, path, flags, mode);
  if (fd >= 0 && recording.on()) {
    if (!existed) {
      recording.write({.operation = Operation::create, .inode = inode_of(fd)}, relative);
    } else if ((flags & O_TRUNC) != 0) {
      recording.write({.operation = Operation::truncate, .inode = inode_of(fd)}, relative);
    }
  }
  return fd;
}

ssize_t pwrite_recorded(int fd, const void* data, std::size_t bytes, off_t offset) {
  if (!ours(fd)) {
    return SHERD_REAL(pwrite)(fd, data, bytes, offset);
  }
  const What what = judge("pwrite");
  if (what == What::eio || what == What::enospc) {
    errno = what == What::eio ? EIO : ENOSPC;
    return -1;
  }
  if (what == What::shorter && bytes > 1) {
    // A direct write ends between blocks.
    const bool direct = (::fcntl(fd, F_GETFL) & O_DIRECT) != 0;
    bytes = direct ? (bytes > 4096 ? bytes / 2 / 4096 * 4096 : bytes) : bytes / 2;
  }
  const Recording recording;
  const ssize_t done = SHERD_REAL(pwrite)(fd, data, bytes, offset);
  if (done > 0) {
    recording.write({.operation = Operation::write,
                     .inode = inode_of(fd),
                     .offset = static_cast<std::uint64_t>(offset),
                     .data_bytes = static_cast<std::uint64_t>(done)},
                    {}, {}, data);
  }
  return done;
}

template <typename Call>
int sync_recorded(int fd, Call&& real) {
  if (!ours(fd)) {
    return real(fd);
  }
  if (refused("fsync")) {
    return -1;
  }
  const Recording recording;
  const int result = real(fd);
  if (result == 0) {
    recording.write({.operation = Operation::sync, .inode = inode_of(fd)}, {});
  }
  return result;
}

template <typename Call>
int resize_recorded(int fd, std::uint64_t bytes, const char* name, bool only_grows, Call&& real) {
  if (!ours(fd)) {
    return real();
  }
  if (refused(name)) {
    return -1;
  }
  const Recording recording;
  struct stat before {};
  ::fstat(fd, &before);
  const int result = real();
  if (result == 0 && !(only_grows && static_cast<std::uint64_t>(before.st_size) >= bytes)) {
    recording.write({.operation = Operation::truncate, .inode = inode_of(fd), .offset = bytes}, {});
  }
  return result;
}

template <typename Call>
int rename_recorded(int from_folder, const char* from, int to_folder, const char* to,
                    Operation operation, Call&& real) {
  std::string a;
  std::string b;
  if (!ours(from_folder, from, a) || !ours(to_folder, to, b)) {
    return real();
  }
  if (refused("rename")) {
    return -1;
  }
  const Recording recording;
  const int result = real();
  if (result == 0) {
    recording.write({.operation = operation}, a, b);
  }
  return result;
}

template <typename Call>
int remove_recorded(int folder, const char* path, Operation operation, Call&& real) {
  std::string relative;
  if (!ours(folder, path, relative)) {
    return real();
  }
  const Recording recording;
  const int result = real();
  if (result == 0) {
    recording.write({.operation = operation}, relative);
  }
  return result;
}

template <typename Call>
int mkdir_recorded(int folder, const char* path, Call&& real) {
  std::string relative;
  if (!ours(folder, path, relative)) {
    return real();
  }
  if (refused("mkdir")) {
    return -1;
  }
  const Recording recording;
  const int result = real();
  if (result == 0) {
    recording.write({.operation = Operation::mkdir, .inode = inode_of(folder, path)}, relative);
  }
  return result;
}

mode_t mode_of(int flags, std::va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

void sherd_shim_arm(const char* fault) {
  const std::lock_guard lock(shim().mutex);
  read_fault(shim(), fault);
}

int sherd_shim_calls() {
  const std::lock_guard lock(shim().mutex);
  return shim().calls;
}

int sherd_shim_fired() {
  const std::lock_guard lock(shim().mutex);
  return shim().fired ? 1 : 0;
}

void sherd_shim_log(const char* root, const char* file) {
  const std::lock_guard lock(shim().mutex);
  shim().root = root == nullptr ? "" : root;
  shim().log_path = file == nullptr ? "" : file;
}

void sherd_shim_note(const char* text) {
  const Recording recording;
  recording.write({.operation = Operation::note}, text);
}

int open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_recorded(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_recorded(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_recorded(folder, path, flags, mode);
}

ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  return pwrite_recorded(fd, data, bytes, offset);
}

ssize_t pwrite64(int fd, const void* data, size_t bytes, off64_t offset) {
  return pwrite_recorded(fd, data, bytes, offset);
}

ssize_t write(int fd, const void* data, size_t bytes) {
  if (!ours(fd)) {
    return SHERD_REAL(write)(fd, data, bytes);
  }
  const Recording recording;
  const off_t at = ::lseek(fd, 0, SEEK_CUR);
  const ssize_t done = SHERD_REAL(write)(fd, data, bytes);
  if (done > 0) {
    recording.write({.operation = Operation::write,
                     .inode = inode_of(fd),
                     .offset = static_cast<std::uint64_t>(at),
                     .data_bytes = static_cast<std::uint64_t>(done)},
                    {}, {}, data);
  }
  return done;
}

int fsync(int fd) {
  return sync_recorded(fd, [](int file) { return SHERD_REAL(fsync)(file); });
}

int fdatasync(int fd) {
  return sync_recorded(fd, [](int file) { return SHERD_REAL(fdatasync)(file); });
}

int ftruncate(int fd, off_t bytes) noexcept {
  return resize_recorded(fd, static_cast<std::uint64_t>(bytes), "ftruncate", false,
                         [&] { return SHERD_REAL(ftruncate)(fd, bytes); });
}

int ftruncate64(int fd, off64_t bytes) noexcept {
  return resize_recorded(fd, static_cast<std::uint64_t>(bytes), "ftruncate", false,
                         [&] { return SHERD_REAL(ftruncate64)(fd, bytes); });
}

int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  return resize_recorded(fd, static_cast<std::uint64_t>(offset + bytes), "fallocate", true,
                         [&] { return SHERD_REAL(fallocate)(fd, mode, offset, bytes); });
}

int fallocate64(int fd, int mode, off64_t offset, off64_t bytes) {
  return resize_recorded(fd, static_cast<std::uint64_t>(offset + bytes), "fallocate", true,
                         [&] { return SHERD_REAL(fallocate64)(fd, mode, offset, bytes); });
}

int rename(const char* from, const char* to) noexcept {
  return rename_recorded(AT_FDCWD, from, AT_FDCWD, to, Operation::rename,
                         [&] { return SHERD_REAL(rename)(from, to); });
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  return rename_recorded(
      from_folder, from, to_folder, to,
      (flags & RENAME_EXCHANGE) != 0 ? Operation::exchange : Operation::rename,
      [&] { return SHERD_REAL(renameat2)(from_folder, from, to_folder, to, flags); });
}

int unlink(const char* path) noexcept {
  return remove_recorded(AT_FDCWD, path, Operation::unlink,
                         [&] { return SHERD_REAL(unlink)(path); });
}

int rmdir(const char* path) noexcept {
  return remove_recorded(AT_FDCWD, path, Operation::remove_dir,
                         [&] { return SHERD_REAL(rmdir)(path); });
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  return remove_recorded(folder, path,
                         (flags & AT_REMOVEDIR) != 0 ? Operation::remove_dir : Operation::unlink,
                         [&] { return SHERD_REAL(unlinkat)(folder, path, flags); });
}

int remove(const char* path) noexcept {
  struct stat info {};
  const bool folder = ::lstat(path, &info) == 0 && S_ISDIR(info.st_mode);
  return folder ? rmdir(path) : unlink(path);
}

int mkdir(const char* path, mode_t mode) noexcept {
  return mkdir_recorded(AT_FDCWD, path, [&] { return SHERD_REAL(mkdir)(path, mode); });
}

}  // extern "C"
