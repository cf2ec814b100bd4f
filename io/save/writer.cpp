// Whole pages past the page cache, edges through it, into one file that other ranks write, too.
#include "io/save/writer.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "io/disk/page.hpp"
#include "sherd/base/error.hpp"

namespace sherd::io {

ShardWriter::ShardWriter(FileSystem& fs, const std::filesystem::path& path, Open how)
    : fs_(fs),
      buffered_(fs, path, O_WRONLY | (how == Open::create ? O_CREAT : 0)),
      throttle_(WriteThrottle::from_environment()) {
  try {
    direct_ = File(fs, path, O_WRONLY | O_DIRECT);
    use_direct_ = true;
  } catch (const IoError&) {
    use_direct_ = false;  // tmpfs and some network file systems have no direct I/O
  }
}

bool ShardWriter::write_direct(const std::byte* data, std::uint64_t offset, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t written = fs_.pwrite(direct_.fd(), data, bytes, offset);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0 && errno == EINVAL) {
      use_direct_ = false;
      return false;
    }
    if (written <= 0) {
      errno = written == 0 ? ENOSPC : errno;
      throw_errno("write", direct_.path());
    }
    data += written;
    offset += static_cast<std::uint64_t>(written);
    bytes -= static_cast<std::size_t>(written);
    if (!on_page(data, offset)) {  // a short write ended inside a block
      buffered_.write_at({data, bytes}, offset);
      return true;
    }
  }
  return true;
}

void ShardWriter::write(const std::byte* data, std::uint64_t offset, std::uint64_t bytes) {
  while (bytes > 0) {
    std::uint64_t chunk = std::min<std::uint64_t>(bytes, throttle_.chunk_bytes());
    const std::uint64_t to_page = (kPage - offset % kPage) % kPage;
    bool done = false;
    if (to_page != 0) {
      chunk = std::min(chunk, to_page);
    } else if (use_direct_ && chunk >= kPage && on_page(data, offset)) {
      chunk = chunk / kPage * kPage;
      done = write_direct(data, offset, chunk);
    }
    if (!done) {
      buffered_.write_at({data, chunk}, offset);
    }
    data += chunk;
    offset += chunk;
    bytes -= chunk;
    throttle_.wrote(chunk);
  }
}

}  // namespace sherd::io
