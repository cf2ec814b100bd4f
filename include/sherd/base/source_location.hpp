#pragma once

namespace sherd {

/// Where a call was written. Stands in for std::source_location, which clang 14 does not have.
struct SourceLocation {
  const char* file = "";
  int line = 0;

  static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                          int line = __builtin_LINE()) noexcept {
    return {file, line};
  }
};

}  // namespace sherd
