// The system calls of checkpoints behind one seam, where tests let them fail.
#include "io/disk/file_system.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "io/disk/write_signals.hpp"

namespace sherd::io {

int FileSystem::open(const std::filesystem::path& path, int flags) {
  if ((flags & O_CREAT) == 0) {
    return ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  }
  // Under a name about to be made a link that another user has planted is not written through, and
  // a pipe not waited for. What is open stays blocking: io_uring would answer EAGAIN.
  const int fd = ::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
  if (fd >= 0) {
    (void)::fcntl(fd, F_SETFL, flags);
  }
  return fd;
}

int FileSystem::close(int fd) noexcept { return ::close(fd); }

ssize_t FileSystem::pwrite(int fd, const std::byte* data, std::size_t bytes, std::uint64_t offset) {
  const WriteSignals held;
  return ::pwrite(fd, data, bytes, static_cast<off_t>(offset));
}

int FileSystem::allocate(int fd, std::uint64_t bytes) {
  const WriteSignals held;
  // Not posix_fallocate: where the file system lacks it, the C library writes zeros block by block,
  // over what other ranks may have written already.
  return ::fallocate(fd, 0, 0, static_cast<off_t>(bytes));
}

int FileSystem::resize(int fd, std::uint64_t bytes) {
  const WriteSignals held;
  return ::ftruncate(fd, static_cast<off_t>(bytes));
}

int FileSystem::sync(int fd) { return ::fsync(fd); }

int FileSystem::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  return std::rename(from.c_str(), to.c_str());
}

int FileSystem::rename_to_new(const std::filesystem::path& from, const std::filesystem::path& to) {
  const int done = ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  if (done == 0 || (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)) {
    return done;
  }
  // A plain rename of a folder takes the place of an empty folder at most (POSIX), and an empty
  // folder is no checkpoint.
  return std::rename(from.c_str(), to.c_str());
}

int FileSystem::exchange(const std::filesystem::path& a, const std::filesystem::path& b) {
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
}

int FileSystem::make_directory(const std::filesystem::path& path) {
  return ::mkdir(path.c_str(), 0777);
}

std::shared_ptr<FileSystem> posix_file_system() { return std::make_shared<FileSystem>(); }

}  // namespace sherd::io
