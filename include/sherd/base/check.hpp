#pragma once

#include <string>

#include "sherd/base/error.hpp"

namespace sherd {

/// Throws ArgumentError with `message` unless `condition` holds. Always on: for what a caller can
/// get wrong at the cost of one branch.
inline void expect(bool condition, const char* message,
                   SourceLocation at = SourceLocation::current()) {
  if (!condition) {
    throw ArgumentError(message, at);
  }
}

/// Throws ConfigError with `message` unless `condition` holds: for user input, files, environment.
inline void validate(bool condition, const std::string& message,
                     SourceLocation at = SourceLocation::current()) {
  if (!condition) {
    throw ConfigError(message, at);
  }
}

}  // namespace sherd
