#pragma once

#include <chrono>
#include <functional>

namespace sherd::io {

/// Calls `done` until it returns true, ever more seldom (1 to 50 ms apart); false when `timeout`
/// has passed.
[[nodiscard]] bool poll_until(std::chrono::duration<double> timeout,
                              const std::function<bool()>& done);

}  // namespace sherd::io
