#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "data/shrink_guard.hpp"

namespace sherd::data {

/// A file mapped for reading. Local.
class MappedFile {
 public:
  /// Throws ConfigError when it cannot be read or is no regular file. An empty file is legal.
  explicit MappedFile(std::filesystem::path path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

  /// Calls `body`, which reads bytes() and owns nothing. Throws ConfigError when the file has
  /// become shorter meanwhile.
  template <class Body>
  void read(Body body) const {
    if (guard_) {
      guard_->read(body);
    }
  }

  /// To be called after bytes were read. Throws IoError when the file has become shorter, since
  /// the rest of its last page then reads as zeros; warns once when it was written to. A file that
  /// was replaced by another of its name is none of this one's business.
  void check_unchanged() const;

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  struct stat opened_ {};
  mutable std::atomic<bool> warned_ = false;
  std::optional<ShrinkGuard> guard_;
};

}  // namespace sherd::data
