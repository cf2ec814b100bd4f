#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

namespace sherd::data {

/// While one lives, touching a page of its mapping that the file no longer has does not end the
/// process with a bare "Bus error": inside of read() it throws IoError, elsewhere it ends the
/// process with exit code 1, and either names the file in one line. Local, for any thread.
class ShrinkGuard {
 public:
  ShrinkGuard(const void* begin, std::size_t bytes, const std::filesystem::path& file);
  ~ShrinkGuard();
  ShrinkGuard(const ShrinkGuard&) = delete;
  ShrinkGuard& operator=(const ShrinkGuard&) = delete;

  /// Calls `body`, which may read the mapping and must own nothing: where a page is gone it is left
  /// without its destructors. Throws IoError.
  template <class Body>
  void read(Body body) const {
    call([](void* each) { (*static_cast<Body*>(each))(); }, &body);
  }

 private:
  void call(void (*body)(void*), void* argument) const;

  struct Range;
  friend struct GuardedRanges;
  Range* range_;
};

}  // namespace sherd::data
