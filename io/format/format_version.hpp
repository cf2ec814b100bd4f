#pragma once

namespace sherd::io {

/// Of docs/checkpoint-format.md, which says what each version changed; a reader refuses newer ones.
inline constexpr const char* kFormatName = "sherd-checkpoint";
inline constexpr int kFormatVersion = 2;

}  // namespace sherd::io
