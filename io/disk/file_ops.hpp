#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "io/disk/file_system.hpp"

/// Whole operations over the FileSystem seam: retried, complete or IoError with path and reason.
namespace sherd::io {

/// Throws IoError "cannot <what> '<path>': <errno text>", with a hint where errno has one.
[[noreturn]] void throw_errno(std::string_view what, const std::filesystem::path& path);

/// An open file of a FileSystem; closes itself. Move-only.
class File {
 public:
  File() = default;
  /// Throws IoError when it cannot be opened.
  File(FileSystem& fs, std::filesystem::path path, int flags);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(); }

  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] FileSystem& file_system() const noexcept { return *fs_; }

  /// Writes all of `bytes`; continues after short writes and EINTR.
  void write_at(std::span<const std::byte> bytes, std::uint64_t offset) const;
  void sync() const;

 private:
  void close() noexcept;

  FileSystem* fs_ = nullptr;
  std::filesystem::path path_;
  int fd_ = -1;
};

/// Writes `text` under a temporary name, syncs, renames to `path`. Readers see all of it or
/// nothing. `before_rename` is called in between.
void write_text_durably(FileSystem& fs, const std::filesystem::path& path, std::string_view text,
                        const std::function<void()>& before_rename = {});

void make_directory(FileSystem& fs, const std::filesystem::path& path);
void rename_path(FileSystem& fs, const std::filesystem::path& from,
                 const std::filesystem::path& to);
/// Renames unless something has the name `to` already: then false, and nothing has happened. Throws
/// IoError.
[[nodiscard]] bool rename_to_new(FileSystem& fs, const std::filesystem::path& from,
                                 const std::filesystem::path& to);
/// Swaps what two names stand for, at once. False, and nothing has happened, where the file system
/// cannot. Throws IoError.
[[nodiscard]] bool exchange_paths(FileSystem& fs, const std::filesystem::path& a,
                                  const std::filesystem::path& b);
/// Makes the names in a directory durable.
void sync_directory(FileSystem& fs, const std::filesystem::path& directory);

/// Whether something has this name. Only ENOENT means that nothing has: what cannot be looked at
/// (a mount, a permission, a disk error) throws IoError.
[[nodiscard]] bool is_there(const std::filesystem::path& path);

/// Throws DamagedError where a pipe, device or folder lies in the place of a file: opening one may
/// never return.
void refuse_other_kinds(const std::filesystem::path& path);

/// The whole file. Throws IoError, DamagedError when it is no regular file.
[[nodiscard]] std::string read_text(const std::filesystem::path& path);

}  // namespace sherd::io
