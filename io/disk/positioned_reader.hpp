#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>

#include "io/disk/damaged.hpp"
#include "sherd/base/unique_handle.hpp"

namespace sherd::io {

struct DescriptorTraits {
  using Raw = int;
  static Raw null() noexcept { return -1; }
  static void close(Raw raw) noexcept;
};

/// Page-aligned memory for direct reads. Move-only.
class PageBuffer {
 public:
  /// Room for any `bytes` of a file and the rest of its first and last page.
  explicit PageBuffer(std::size_t bytes);

  [[nodiscard]] std::byte* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* data) const noexcept { std::free(data); }
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte, Free> data_;
};

/// A file open for reads at any offset. Thread-safe after construction.
class PositionedReader {
 public:
  /// Throws DamagedError when the file does not exist, IoError when it cannot be opened.
  explicit PositionedReader(std::filesystem::path path);

  /// Throws DamagedError when the file ends before `offset + out.size()`, IoError on read errors.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  /// The same past the page cache, where the file system can: whole pages into `buffer`, of which
  /// the part asked for is returned. The file may be open for buffered reads at the same time.
  [[nodiscard]] std::span<std::byte> read_direct(std::uint64_t offset, std::size_t bytes,
                                                 PageBuffer& buffer) const;
  [[nodiscard]] std::uint64_t bytes() const;
  /// Asks the system to drop what it keeps of the file in memory, so that a read sees the disk.
  void forget_cached() const noexcept;

 private:
  std::size_t read_pages(std::uint64_t offset, std::span<std::byte> out) const;

  std::filesystem::path path_;
  UniqueHandle<DescriptorTraits> fd_;
  UniqueHandle<DescriptorTraits> direct_;  // null where there is no direct I/O
};

}  // namespace sherd::io
