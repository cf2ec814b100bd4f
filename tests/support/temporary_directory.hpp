#pragma once

#include <filesystem>

#include "io/commit/folder.hpp"

namespace sherd::io::test {

/// In memory, where a sync costs nothing: for tests of many saves that are not about the disk.
inline const std::filesystem::path kMemory = "/dev/shm";

/// A fresh directory, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() : TemporaryDirectory(std::filesystem::temp_directory_path()) {}
  explicit TemporaryDirectory(const std::filesystem::path& parent)
      : path_(parent / ("sherd-io-" + make_uuid())) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace sherd::io::test
