#pragma once

namespace sherd::io {

/// Lets the calling thread give way to those that compute: a higher nice value, and what it writes
/// comes after other programs' reads. Where the system refuses, nothing changes.
void take_background_priority() noexcept;

}  // namespace sherd::io
