#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "sherd/base/error.hpp"
#include "sherd/base/unique_handle.hpp"

namespace sherd {

/// What a file is read for, for messages: "PATH: cannot be read: REASON (why). Try: suggestion".
struct FilePurpose {
  std::string_view why;
  std::string_view suggestion;
};

/// A path cannot be read as a file.
class UnreadableFile : public ConfigError {
 public:
  UnreadableFile(const std::string& message, int error_number,
                 SourceLocation at = SourceLocation::current());

  /// The system's reason; 0 when it had none and the file is not what was wanted.
  [[nodiscard]] int error_number() const noexcept { return error_number_; }

 private:
  int error_number_;
};

struct FileDescriptorTraits {
  using Raw = int;
  static Raw null() noexcept { return -1; }
  static void close(Raw fd) noexcept;
};
using FileDescriptor = UniqueHandle<FileDescriptorTraits>;

/// A file of others, open for reading. Pipes, devices, sockets and folders are refused at once:
/// reading one of them may never end. Links are followed. Local; every call blocks for the disk
/// alone. Move-only, closes itself.
class RegularFile {
 public:
  /// Throws UnreadableFile. `purpose` is not kept.
  RegularFile(std::filesystem::path path, const FilePurpose& purpose);

  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Bytes it had when it was opened.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Fills `out` with what lies at `offset` and returns the bytes read: fewer than wanted at the
  /// end of the file alone. Throws UnreadableFile.
  [[nodiscard]] std::size_t read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::filesystem::path path_;
  FileDescriptor descriptor_;
  std::uint64_t size_ = 0;
};

/// All of a file that is small by nature. Throws UnreadableFile, also when it has more than `limit`
/// bytes. Local.
[[nodiscard]] std::string read_small_file(const std::filesystem::path& path, std::uint64_t limit,
                                          const FilePurpose& purpose);

}  // namespace sherd
