#pragma once

#include <string>

namespace sherd::io {

/// This machine's name as gethostname() gives it.
[[nodiscard]] std::string host_name();

}  // namespace sherd::io
