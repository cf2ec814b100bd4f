#pragma once

namespace sherd::io {

/// Of docs/checkpoint-format.md; a reader refuses newer versions.
inline constexpr const char* kFormatName = "sherd-checkpoint";
inline constexpr int kFormatVersion = 1;

}  // namespace sherd::io
