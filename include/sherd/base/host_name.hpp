#pragma once

#include <string>

namespace sherd {

/// This machine's name as gethostname() gives it; "unknown host" where it gives none.
[[nodiscard]] std::string host_name();

}  // namespace sherd
