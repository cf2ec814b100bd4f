#include "data/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sherd/base/error.hpp"
#include "sherd/base/unique_handle.hpp"

namespace sherd::data {
namespace {

struct FdTraits {
  using Raw = int;
  static Raw null() noexcept { return -1; }
  static void close(Raw fd) noexcept { ::close(fd); }
};

[[noreturn]] void fail(const std::filesystem::path& path, const char* reason) {
  throw ConfigError(
      fmt::format("{}: cannot be read: {} (it is training data). Try: check the path "
                  "and its permissions",
                  path.string(), reason));
}

}  // namespace

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  const UniqueHandle<FdTraits> fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) {
    fail(path_, std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) {
    fail(path_, "it is not a regular file");
  }
  size_ = static_cast<std::size_t>(info.st_size);
  if (size_ == 0) {
    return;
  }
  void* data = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) {
    fail(path_, std::strerror(errno));
  }
  data_ = static_cast<const std::byte*>(data);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
}

}  // namespace sherd::data
