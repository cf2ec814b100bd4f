#pragma once

namespace sherd::testing {

/// Whether this build is slow because it looks at every access: tests that walk through many
/// combinations then take a few that differ in kind.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace sherd::testing
