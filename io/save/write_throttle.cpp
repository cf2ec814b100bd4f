#include "io/save/write_throttle.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "sherd/base/error.hpp"

namespace sherd::io {

WriteThrottle WriteThrottle::from_environment() {
  WriteThrottle throttle;
  const char* text = std::getenv("SHERD_TEST_WRITE_BYTES_PER_SECOND");
  if (text == nullptr) {
    return throttle;
  }
  const std::string_view view = text;
  std::size_t rate = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), rate);
  if (error != std::errc{} || end != view.data() + view.size() || rate == 0) {
    throw ConfigError("SHERD_TEST_WRITE_BYTES_PER_SECOND is '" + std::string(view) +
                      "', not a positive number. Try: unsetting it");
  }
  throttle.bytes_per_second_ = static_cast<double>(rate);
  const std::size_t pages = std::max<std::size_t>(1, rate / 20 / 4096);
  throttle.chunk_bytes_ = std::min(throttle.chunk_bytes_, pages * 4096);
  return throttle;
}

void WriteThrottle::wrote(std::size_t bytes) {
  if (bytes_per_second_ <= 0) {
    return;
  }
  written_ += static_cast<double>(bytes);
  const std::chrono::duration<double> due(written_ / bytes_per_second_);
  std::this_thread::sleep_until(start_ + std::chrono::duration_cast<std::chrono::nanoseconds>(due));
}

}  // namespace sherd::io
