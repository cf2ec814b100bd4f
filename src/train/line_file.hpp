#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "sherd/base/unique_handle.hpp"

namespace sherd::train {

/// Whether a write that failed with `error` may work later, as on a full disk, or in a folder that
/// was lost, and does not mean that a wrong place was asked for.
[[nodiscard]] bool may_pass(int error) noexcept;

/// A file of whole lines that other programs may move, remove or fill the disk of meanwhile.
class LineFile {
 public:
  explicit LineFile(std::filesystem::path path) : path_(std::move(path)) {}

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// Opens it, made when absent; 0 or errno. Its folder must exist. A link is not written through.
  [[nodiscard]] int open() noexcept;
  /// Appends `line` and a newline, or nothing of it; 0 or errno. Opens the file anew when it lies
  /// no longer under its name.
  [[nodiscard]] int append(std::string_view line) noexcept;

 private:
  struct Close {
    using Raw = int;
    static Raw null() noexcept { return -1; }
    static void close(Raw raw) noexcept;
  };

  [[nodiscard]] bool is_in_place() const noexcept;

  std::filesystem::path path_;
  UniqueHandle<Close> fd_;
};

/// Writes a whole file beside `path` and renames it; what was there stays when that fails. 0 or
/// errno.
[[nodiscard]] int replace_text(const std::filesystem::path& path, std::string_view text) noexcept;

}  // namespace sherd::train
