#include "data/mapped_file.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "sherd/base/error.hpp"
#include "sherd/base/log.hpp"
#include "sherd/base/regular_file.hpp"

namespace sherd::data {
namespace {

constexpr FilePurpose kDataPurpose{"it is training data", "check the path and its permissions"};

[[noreturn]] void fail(const std::filesystem::path& path, int number) {
  throw ConfigError(fmt::format("{}: cannot be read: {} ({}). Try: {}", path.string(),
                                std::strerror(number), kDataPurpose.why, kDataPurpose.suggestion));
}

bool same_time(const struct timespec& a, const struct timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  const RegularFile file(path_, kDataPurpose);
  if (::fstat(file.descriptor(), &opened_) != 0) {
    fail(path_, errno);
  }
  size_ = static_cast<std::size_t>(opened_.st_size);
  if (size_ == 0) {
    return;
  }
  void* data = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (data == MAP_FAILED) {
    fail(path_, errno);
  }
  data_ = static_cast<const std::byte*>(data);
  guard_.emplace(data, size_, path_);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    guard_.reset();
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
}

void MappedFile::check_unchanged() const {
  struct stat now {};
  if (::stat(path_.c_str(), &now) != 0 || now.st_ino != opened_.st_ino ||
      now.st_dev != opened_.st_dev) {
    return;
  }
  if (now.st_size < opened_.st_size) {
    throw IoError(fmt::format(
        "{}: has {} bytes, it had {} when the run began (it is training data). Try: the whole file "
        "again, then the same command; put new data in place with mv",
        path_.string(), now.st_size, opened_.st_size));
  }
  if (!same_time(now.st_mtim, opened_.st_mtim) && !warned_.exchange(true)) {
    log::warning(fmt::format(
        "{}: is being written to while the run reads it (what a step reads may be neither the old "
        "data nor the new). Try: put new data in place with mv",
        path_.string()));
  }
}

}  // namespace sherd::data
