#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "io/file_ops.hpp"
#include "io/write_throttle.hpp"

namespace sherd::io {

/// Writes one rank's stretches of a node file: whole pages past the page cache (O_DIRECT) where the
/// file system can, edges and everything else through it. Other ranks write the same file beside.
class ShardWriter {
 public:
  /// Creates the file when it is not there. Throws IoError.
  ShardWriter(FileSystem& fs, const std::filesystem::path& path);

  /// `data` and `offset` must be equal modulo 4096 for direct writes; else the bytes are copied
  /// through the page cache. `after_chunk` hears how much each write call wrote.
  void write(const std::byte* data, std::uint64_t offset, std::uint64_t bytes,
             const std::function<void(std::uint64_t)>& after_chunk = {});
  /// Reserves the file's space where the file system can; throws IoError when the disk is full.
  void allocate(std::uint64_t bytes);
  /// Sets the file's size; nobody writes beyond it.
  void extend(std::uint64_t bytes);
  void sync() { buffered_.sync(); }

 private:
  bool write_direct(const std::byte* data, std::uint64_t offset, std::size_t bytes);

  FileSystem& fs_;
  File buffered_;
  File direct_;
  bool use_direct_ = false;
  WriteThrottle throttle_;
};

}  // namespace sherd::io
