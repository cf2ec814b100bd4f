#pragma once

#include <chrono>
#include <cstddef>

namespace sherd::io {

/// Slows the background writer to SHERD_TEST_WRITE_BYTES_PER_SECOND, so that tests and
/// demonstrations can kill a run in the middle of a write. Unlimited when the variable is not set.
class WriteThrottle {
 public:
  /// Throws ConfigError when the variable is not a positive number.
  static WriteThrottle from_environment();

  [[nodiscard]] bool active() const noexcept { return bytes_per_second_ > 0; }
  /// Bytes to hand to one write call.
  [[nodiscard]] std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
  /// Sleeps as long as `bytes` more should take.
  void wrote(std::size_t bytes);

 private:
  double bytes_per_second_ = 0;
  std::size_t chunk_bytes_ = std::size_t{8} << 20;
  double written_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace sherd::io
