// Reads at an offset past the page cache, as a load reads each byte once.
#include "io/disk/positioned_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/disk/file_ops.hpp"
#include "io/disk/page.hpp"

namespace sherd::io {

void DescriptorTraits::close(Raw raw) noexcept { ::close(raw); }

PageBuffer::PageBuffer(std::size_t bytes)
    : bytes_(round_up_to_page(bytes) + kPage),
      data_(static_cast<std::byte*>(std::aligned_alloc(kPage, bytes_))) {
  if (data_ == nullptr) {
    throw IoError(fmt::format("no memory for {} bytes to read into", bytes_));
  }
}

PositionedReader::PositionedReader(std::filesystem::path path)
    : path_(std::move(path)), fd_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (!fd_) {
    if (errno == ENOENT) {
      throw DamagedError(fmt::format("file '{}' is missing", path_.string()));
    }
    throw_errno("open", path_);
  }
  refuse_other_kinds(path_);
  ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);  // a larger read-ahead
  direct_.reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
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

/// Bytes read before the end of the file, an odd place in it, or the first refusal.
std::size_t PositionedReader::read_pages(std::uint64_t offset, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (direct_ && done < out.size() && done % kPage == 0) {
    const ssize_t got = ::pread(direct_.get(), out.data() + done, out.size() - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0 && errno != EINVAL) {
      throw_errno("read", path_);
    }
    if (got <= 0) {
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::span<std::byte> PositionedReader::read_direct(std::uint64_t offset, std::size_t bytes,
                                                   PageBuffer& buffer) const {
  const std::size_t before = offset % kPage;
  const std::size_t wanted = before + bytes;
  const std::size_t got = read_pages(
      offset - before, {buffer.data(), static_cast<std::size_t>(round_up_to_page(wanted))});
  if (got < wanted) {
    const std::size_t done = std::max(got, before);
    read(offset - before + done, {buffer.data() + done, wanted - done});
  }
  return {buffer.data() + before, bytes};
}

void PositionedReader::forget_cached() const noexcept {
  ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED);
}

std::uint64_t PositionedReader::bytes() const {
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) {
    throw_errno("stat", path_);
  }
  return static_cast<std::uint64_t>(info.st_size);
}

}  // namespace sherd::io
