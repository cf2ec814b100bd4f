#include "faults/fault_shim.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "faults/operation_log.hpp"
#include "faults/shim_state.hpp"

using sherd::faults::inode_of;
using sherd::faults::judge;
using sherd::faults::Operation;
using sherd::faults::ours;
using sherd::faults::Recording;
using sherd::faults::refused;
using sherd::faults::What;

namespace {

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
