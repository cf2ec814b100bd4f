#include "sherd/comm/timeout.hpp"

#include <cmath>
#include <cstdlib>
#include <string>

#include "sherd/base/check.hpp"

namespace sherd::comm {

std::chrono::milliseconds comm_timeout() {
  const char* text = std::getenv("SHERD_COMM_TIMEOUT");
  if (text == nullptr) {
    return std::chrono::seconds(600);
  }
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  validate(
      end != text && *end == '\0' && std::isfinite(seconds) && seconds > 0 && seconds < 1e9,
      std::string("SHERD_COMM_TIMEOUT is '") + text +
          "' (it is how long a rank waits for the others). Try: a number of seconds, like 600");
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000.0)));
}

}  // namespace sherd::comm
