#pragma once

namespace sherd::io {

/// Lets the calling thread give way to those that compute, by a higher nice value. Where the system
/// refuses, nothing changes.
void take_background_priority() noexcept;

}  // namespace sherd::io
