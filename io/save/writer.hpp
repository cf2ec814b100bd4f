#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>

#include "io/disk/file_ops.hpp"
#include "io/save/write_throttle.hpp"

namespace sherd::io {

/// Writes one rank's stretches of a node file: whole pages past the page cache (O_DIRECT) where the
/// file system can, edges and everything else through it. Other ranks write the same file beside.
class ShardWriter {
 public:
  /// Opens a file that is there, or creates it with `create`. Throws IoError.
  enum class Open : std::uint8_t { existing, create };
  ShardWriter(FileSystem& fs, const std::filesystem::path& path, Open how);

  /// `data` and `offset` must be equal modulo 4096 for direct writes; else the bytes are copied
  /// through the page cache. Thread-safe unless throttled().
  void write(const std::byte* data, std::uint64_t offset, std::uint64_t bytes);
  void sync() { buffered_.sync(); }

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return buffered_.path(); }
  /// Whether writes of whole pages pass the page cache by.
  [[nodiscard]] bool direct() const noexcept { return use_direct_; }
  [[nodiscard]] int direct_fd() const noexcept { return direct_.fd(); }
  /// Whether a test slows the writes down.
  [[nodiscard]] bool throttled() const noexcept { return throttle_.active(); }

 private:
  bool write_direct(const std::byte* data, std::uint64_t offset, std::size_t bytes);

  FileSystem& fs_;
  File buffered_;
  File direct_;
  std::atomic<bool> use_direct_ = false;
  WriteThrottle throttle_;
};

}  // namespace sherd::io
