#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

namespace sherd::io {

/// The system calls a checkpoint is written with: the seam where tests make them fail. Calls mean
/// what POSIX says: -1 and errno on failure. Thread-safe.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  [[nodiscard]] virtual int open(const std::filesystem::path& path, int flags);
  virtual int close(int fd) noexcept;
  [[nodiscard]] virtual ssize_t pwrite(int fd, const std::byte* data, std::size_t bytes,
                                       std::uint64_t offset);
  /// Reserves disk space for [0, bytes).
  [[nodiscard]] virtual int allocate(int fd, std::uint64_t bytes);
  [[nodiscard]] virtual int resize(int fd, std::uint64_t bytes);
  [[nodiscard]] virtual int sync(int fd);
  [[nodiscard]] virtual int rename(const std::filesystem::path& from,
                                   const std::filesystem::path& to);
  /// EEXIST or ENOTEMPTY when `to` is there, and nothing has happened.
  [[nodiscard]] virtual int rename_to_new(const std::filesystem::path& from,
                                          const std::filesystem::path& to);
  /// Both names swap what they stand for, at once. EINVAL or ENOSYS where that does not exist.
  [[nodiscard]] virtual int exchange(const std::filesystem::path& a,
                                     const std::filesystem::path& b);
  [[nodiscard]] virtual int make_directory(const std::filesystem::path& path);
};

[[nodiscard]] std::shared_ptr<FileSystem> posix_file_system();

}  // namespace sherd::io
