#pragma once

#include "sherd/comm/backends.hpp"

namespace sherd::comm {

/// Whether NCCL can be used by this process: compiled in, a device answers, not disabled by
/// SHERD_DISABLE_NCCL. Local.
[[nodiscard]] BackendStatus nccl_status();

}  // namespace sherd::comm
