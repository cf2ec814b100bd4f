#pragma once

#include <cstdint>
#include <string>

namespace sherd::io {

/// This machine's name as gethostname() gives it.
[[nodiscard]] std::string host_name();

/// When a process of this machine began, in clock ticks since the machine started; 0 when there is
/// no such process. With the process number it tells a process from a later one of that number.
[[nodiscard]] std::int64_t process_start(std::int64_t pid);

}  // namespace sherd::io
