// Durable writes: a file is complete under its name, or not there.
#include "io/disk/file_ops.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "io/disk/damaged.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/regular_file.hpp"

namespace sherd::io {
namespace {

const char* hint(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
      return ". Try: freeing space, a smaller keep_last, or another checkpoint directory";
    case EFBIG:
      return ". Try: a larger limit of file sizes (ulimit -f)";
    case EACCES:
    case EPERM:
    case EROFS:
      return ". Try: a checkpoint directory this user may write to";
    default:
      return "";
  }
}

File open_directory(FileSystem& fs, const std::filesystem::path& directory) {
  return File(fs, directory.empty() ? "." : directory, O_RDONLY | O_DIRECTORY);
}

/// Some network file systems cannot sync a directory and say EINVAL: nothing more can be done.
void sync_open_directory(const File& directory) {
  if (directory.file_system().sync(directory.fd()) != 0 && errno != EINVAL) {
    throw_errno("sync directory", directory.path());
  }
}

}  // namespace

void throw_errno(std::string_view what, const std::filesystem::path& path) {
  const int code = errno;
  throw IoError(
      fmt::format("cannot {} '{}': {}{}", what, path.string(), std::strerror(code), hint(code)));
}

File::File(FileSystem& fs, std::filesystem::path path, int flags)
    : fs_(&fs), path_(std::move(path)), fd_(fs.open(path_, flags)) {
  if (fd_ < 0) {
    throw_errno("open", path_);
  }
}

File::File(File&& other) noexcept
    : fs_(other.fs_), path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    close();
    fs_ = other.fs_;
    path_ = std::move(other.path_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void File::close() noexcept {
  if (fd_ >= 0) {
    fs_->close(std::exchange(fd_, -1));
  }
}

void File::write_at(std::span<const std::byte> bytes, std::uint64_t offset) const {
  while (!bytes.empty()) {
    const ssize_t written = fs_->pwrite(fd_, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      errno = written == 0 ? ENOSPC : errno;
      throw_errno("write", path_);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

void File::sync() const {
  if (fs_->sync(fd_) != 0) {
    throw_errno("sync", path_);
  }
}

void write_text_durably(FileSystem& fs, const std::filesystem::path& path, std::string_view text,
                        const std::function<void()>& before_rename) {
  std::filesystem::path temporary = path;
  temporary += ".tmp";
  {
    const File file(fs, temporary, O_WRONLY | O_CREAT | O_TRUNC);
    file.write_at(std::as_bytes(std::span(text)), 0);
    file.sync();
  }
  if (before_rename) {
    before_rename();
  }
  // Opened first: whoever waits for the file may rename or remove the directory once it is there.
  const File directory = open_directory(fs, path.parent_path());
  rename_path(fs, temporary, path);
  sync_open_directory(directory);
}

void make_directory(FileSystem& fs, const std::filesystem::path& path) {
  if (fs.make_directory(path) != 0) {
    throw_errno("create directory", path);
  }
}

void rename_path(FileSystem& fs, const std::filesystem::path& from,
                 const std::filesystem::path& to) {
  if (fs.rename(from, to) != 0) {
    throw_errno(fmt::format("rename '{}' to", from.string()), to);
  }
}

bool rename_to_new(FileSystem& fs, const std::filesystem::path& from,
                   const std::filesystem::path& to) {
  if (fs.rename_to_new(from, to) == 0) {
    return true;
  }
  if (errno != EEXIST && errno != ENOTEMPTY) {
    throw_errno(fmt::format("rename '{}' to", from.string()), to);
  }
  return false;
}

bool exchange_paths(FileSystem& fs, const std::filesystem::path& a,
                    const std::filesystem::path& b) {
  if (fs.exchange(a, b) == 0) {
    return true;
  }
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) {
    throw_errno(fmt::format("exchange '{}' with", a.string()), b);
  }
  return false;
}

void sync_directory(FileSystem& fs, const std::filesystem::path& directory) {
  sync_open_directory(open_directory(fs, directory));
}

bool is_there(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    return true;
  }
  if (errno != ENOENT) {
    throw_errno("look at", path);
  }
  return false;
}

void refuse_other_kinds(const std::filesystem::path& path) {
  std::error_code unknown;
  const std::filesystem::file_status found = std::filesystem::status(path, unknown);
  if (std::filesystem::exists(found) && !std::filesystem::is_regular_file(found)) {
    throw DamagedError(fmt::format("'{}' is no regular file", path.string()));
  }
}

std::string read_text(const std::filesystem::path& path) {
  constexpr std::uint64_t kLargest = std::uint64_t{4} << 30;
  try {
    return read_small_file(path, kLargest, {"", ""});
  } catch (const UnreadableFile& error) {
    if (error.error_number() == 0) {  // no file of sherd's at all
      throw DamagedError(error.what());
    }
    errno = error.error_number();
    throw_errno("read", path);
  }
}

}  // namespace sherd::io
