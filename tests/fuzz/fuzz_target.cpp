#include "fuzz/fuzz_target.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

#include "sherd/base/error.hpp"

namespace sherd::fuzz {

void read_or_refuse(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error&) {
  }
}

MemoryFile::MemoryFile(std::string_view content) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
  if (fd_ < 0 ||
      ::write(fd_, content.data(), content.size()) != static_cast<ssize_t>(content.size())) {
    throw std::runtime_error("no memory for a file");
  }
}

MemoryFile::~MemoryFile() { ::close(fd_); }

std::string MemoryFile::path() const { return "/proc/self/fd/" + std::to_string(fd_); }

}  // namespace sherd::fuzz
