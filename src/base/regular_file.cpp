#include "sherd/base/regular_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sherd/base/printable.hpp"

namespace sherd {
namespace {

constexpr FilePurpose kPlain{"", ""};

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view reason, int number,
                         const FilePurpose& purpose) {
  std::string text = fmt::format("{}: cannot be read: {}", printable_name(path.string()), reason);
  if (!purpose.why.empty()) {
    text += fmt::format(" ({})", purpose.why);
  }
  if (!purpose.suggestion.empty()) {
    text += fmt::format(". Try: {}", purpose.suggestion);
  }
  throw UnreadableFile(text, number);
}

/// What a path names that is no regular file.
std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) {
    return "it is a folder";
  }
  if (S_ISFIFO(mode)) {
    return "it is a pipe, not a regular file";
  }
  if (S_ISCHR(mode) || S_ISBLK(mode)) {
    return "it is a device, not a regular file";
  }
  return "it is not a regular file";
}

/// Without O_NONBLOCK the open of a pipe nobody writes to would wait for ever.
FileDescriptor open_at_once(const std::filesystem::path& path) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  } while (fd < 0 && errno == EINTR);
  return FileDescriptor(fd);
}

}  // namespace

UnreadableFile::UnreadableFile(const std::string& message, int error_number, SourceLocation at)
    : ConfigError(message, at), error_number_(error_number) {}

void FileDescriptorTraits::close(Raw fd) noexcept { ::close(fd); }

RegularFile::RegularFile(std::filesystem::path path, const FilePurpose& purpose)
    : path_(std::move(path)) {
  // Opening some devices does something (a tape rewinds): the kind is asked before, too.
  struct stat info {};
  if (::stat(path_.c_str(), &info) != 0) {
    refuse(path_, std::strerror(errno), errno, purpose);
  }
  if (S_ISREG(info.st_mode)) {
    descriptor_ = open_at_once(path_);
    if (!descriptor_ || ::fstat(descriptor_.get(), &info) != 0) {
      refuse(path_, std::strerror(errno), errno, purpose);
    }
  }
  if (!S_ISREG(info.st_mode)) {
    refuse(path_, kind_of(info.st_mode), 0, purpose);
  }
  size_ = static_cast<std::uint64_t>(info.st_size);
}

std::size_t RegularFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  constexpr std::size_t kLargest = std::size_t{1} << 30;
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        ::pread(descriptor_.get(), out.data() + done, std::min(out.size() - done, kLargest),
                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      refuse(path_, std::strerror(errno), errno, kPlain);
    }
    if (got == 0) {
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::string read_small_file(const std::filesystem::path& path, std::uint64_t limit,
                            const FilePurpose& purpose) {
  const RegularFile file(path, purpose);
  const auto too_long = [&](std::uint64_t bytes) {
    refuse(path, fmt::format("it has {} bytes or more, such a file has at most {}", bytes, limit),
           0, purpose);
  };
  if (file.size() > limit) {
    too_long(file.size());
  }
  // Files of /proc have no size before they are read, and others may grow meanwhile.
  constexpr std::size_t kStep = std::size_t{1} << 16;
  std::string text;
  for (std::size_t wanted = file.size() + 1;; wanted = kStep) {
    const std::size_t before = text.size();
    text.resize(before + wanted);
    const std::size_t got =
        file.read(before, std::as_writable_bytes(std::span(text)).subspan(before));
    text.resize(before + got);
    if (text.size() > limit) {
      too_long(text.size());
    }
    if (got < wanted) {
      return text;
    }
  }
}

}  // namespace sherd
