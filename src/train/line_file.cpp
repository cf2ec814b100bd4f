#include "train/line_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace sherd::train {
namespace {

/// 0 or errno.
int write_all(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return written == 0 ? ENOSPC : errno;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

bool may_pass(int error) noexcept {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO:
    case ESTALE:
    case ETIMEDOUT:
    case EAGAIN:
      return true;
    default:
      return false;
  }
}

void LineFile::Close::close(Raw raw) noexcept { ::close(raw); }

int LineFile::open() noexcept {
  fd_.reset(::open(path_.c_str(),
                   O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0666));
  return fd_ ? 0 : errno;
}

bool LineFile::is_in_place() const noexcept {
  struct stat named {};
  struct stat opened {};
  return fd_ && ::stat(path_.c_str(), &named) == 0 && ::fstat(fd_.get(), &opened) == 0 &&
         named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

int LineFile::append(std::string_view line) noexcept {
  if (!is_in_place()) {
    if (const int error = open(); error != 0) {
      return error;
    }
  }
  const off_t before = ::lseek(fd_.get(), 0, SEEK_END);
  int error = write_all(fd_.get(), line);
  error = error != 0 ? error : write_all(fd_.get(), "\n");
  if (error != 0 && before >= 0) {
    (void)!::ftruncate(fd_.get(), before);  // where it cannot be taken back, a torn line stays
  }
  return error;
}

int replace_text(const std::filesystem::path& path, std::string_view text) noexcept {
  auto temporary = path;
  temporary += ".tmp";
  const int fd = ::open(temporary.c_str(),
                        O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0666);
  if (fd < 0) {
    return errno;
  }
  int error = write_all(fd, text);
  if (::close(fd) != 0 && error == 0) {
    error = errno;
  }
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) {
    ::unlink(temporary.c_str());
  }
  return error;
}

}  // namespace sherd::train
