#include "io/positioned_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/file_ops.hpp"

namespace sherd::io {

void DescriptorTraits::close(Raw raw) noexcept { ::close(raw); }

PositionedReader::PositionedReader(std::filesystem::path path)
    : path_(std::move(path)), fd_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (!fd_) {
    if (errno == ENOENT) {
      throw DamagedError(fmt::format("file '{}' is missing", path_.string()));
    }
    throw_errno("open", path_);
  }
  ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);  // a larger read-ahead
}

void PositionedReader::read(std::uint64_t offset, std::span<std::byte> out) const {
  constexpr std::size_t kLargest = std::size_t{1} << 30;
  while (!out.empty()) {
    const ssize_t got =
        ::pread(fd_.get(), out.data(), std::min(out.size(), kLargest), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      throw_errno("read", path_);
    }
    if (got == 0) {
      throw DamagedError(fmt::format("file '{}' ends at byte {}, {} bytes early", path_.string(),
                                     offset, out.size()));
    }
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

std::uint64_t PositionedReader::bytes() const {
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) {
    throw_errno("stat", path_);
  }
  return static_cast<std::uint64_t>(info.st_size);
}

}  // namespace sherd::io
