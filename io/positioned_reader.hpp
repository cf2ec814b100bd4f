#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "sherd/base/error.hpp"
#include "sherd/base/unique_handle.hpp"

namespace sherd::io {

/// The file is not there, or shorter than it should be: damage, as against a system that cannot
/// read at the moment.
class DamagedError : public IoError {
  using IoError::IoError;
};

struct DescriptorTraits {
  using Raw = int;
  static Raw null() noexcept { return -1; }
  static void close(Raw raw) noexcept;
};

/// A file open for reads at any offset. Thread-safe after construction.
class PositionedReader {
 public:
  /// Throws DamagedError when the file does not exist, IoError when it cannot be opened.
  explicit PositionedReader(std::filesystem::path path);

  /// Throws DamagedError when the file ends before `offset + out.size()`, IoError on read errors.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  std::filesystem::path path_;
  UniqueHandle<DescriptorTraits> fd_;
};

}  // namespace sherd::io
