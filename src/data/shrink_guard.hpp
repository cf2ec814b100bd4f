#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

namespace sherd::data {

/// While one lives, touching a page of its mapping that the file no longer has ends the process
/// with exit code 2 and one line that names the file, not with a bare "Bus error". Under a launcher
/// that ends the run on all ranks. Local, for any thread.
class ShrinkGuard {
 public:
  ShrinkGuard(const void* begin, std::size_t bytes, const std::filesystem::path& file);
  ~ShrinkGuard();
  ShrinkGuard(const ShrinkGuard&) = delete;
  ShrinkGuard& operator=(const ShrinkGuard&) = delete;

 private:
  struct Range;
  friend struct GuardedRanges;
  Range* range_;
};

}  // namespace sherd::data
