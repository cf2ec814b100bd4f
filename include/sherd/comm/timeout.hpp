#pragma once

#include <chrono>

namespace sherd::comm {

/// How long a rank waits for the others before it gives up: SHERD_COMM_TIMEOUT seconds, 600 when it
/// is not set. Throws ConfigError when the variable is not a positive number.
[[nodiscard]] std::chrono::milliseconds comm_timeout();

}  // namespace sherd::comm
