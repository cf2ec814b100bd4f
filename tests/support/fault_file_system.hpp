#pragma once

#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "io/disk/file_system.hpp"

namespace sherd::io::test {

/// A FileSystem whose calls fail where a test says so. Set the members before the save begins.
class FaultFileSystem : public FileSystem {
 public:
  int fail_write_number = 0;  ///< the n-th pwrite of a file whose path holds `in_path`; 0: none
  int write_error = EIO;
  int short_write_number = 0;  ///< the n-th pwrite writes a third of what it should
  bool refuse_direct_writes = false;
  int allocate_error = 0;
  int sync_error = 0;
  std::string fail_rename_to;  ///< renames to a path that holds this fail
  std::string fail_open_of;    ///< opening a path that holds this for writing fails

  /// No more faults.
  void heal() {
    fail_write_number = short_write_number = allocate_error = sync_error = 0;
    write_error = EIO;
    refuse_direct_writes = false;
    fail_rename_to.clear();
    fail_open_of.clear();
  }

  int open(const std::filesystem::path& path, int flags) override {
    if (!fail_open_of.empty() && (flags & O_CREAT) != 0 &&
        path.string().find(fail_open_of) != std::string::npos) {
      errno = EACCES;
      return -1;
    }
    return FileSystem::open(path, flags);
  }

  ssize_t pwrite(int fd, const std::byte* data, std::size_t bytes, std::uint64_t offset) override {
    const int number = ++writes_;
    if (number == fail_write_number) {
      errno = write_error;
      return -1;
    }
    if (refuse_direct_writes && (::fcntl(fd, F_GETFL) & O_DIRECT) != 0) {
      errno = EINVAL;
      return -1;
    }
    if (number == short_write_number && bytes > 2) {
      // A direct write cannot end inside a block here, so the short part goes through the cache.
      if ((::fcntl(fd, F_GETFL) & O_DIRECT) == 0) {
        return FileSystem::pwrite(fd, data, bytes / 3, offset);
      }
      return FileSystem::pwrite(fd, data, bytes / 2 / 4096 * 4096, offset);
    }
    return FileSystem::pwrite(fd, data, bytes, offset);
  }

  int allocate(int fd, std::uint64_t bytes) override {
    if (allocate_error != 0) {
      errno = allocate_error;
      return -1;
    }
    return FileSystem::allocate(fd, bytes);
  }

  int sync(int fd) override {
    if (sync_error != 0) {
      errno = sync_error;
      return -1;
    }
    return FileSystem::sync(fd);
  }

  int rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
    if (!fail_rename_to.empty() && to.string().find(fail_rename_to) != std::string::npos) {
      errno = EIO;
      return -1;
    }
    return FileSystem::rename(from, to);
  }

  int rename_to_new(const std::filesystem::path& from, const std::filesystem::path& to) override {
    if (!fail_rename_to.empty() && to.string().find(fail_rename_to) != std::string::npos) {
      errno = EIO;
      return -1;
    }
    return FileSystem::rename_to_new(from, to);
  }

  int writes() const noexcept { return writes_; }
  void restart_counting() noexcept { writes_ = 0; }

 private:
  std::atomic<int> writes_{0};
};

}  // namespace sherd::io::test
