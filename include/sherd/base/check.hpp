#pragma once

#include <concepts>
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

/// The same with a text that is made on failure only: `expect(n > 0, [&] { return ...; })`.
template <std::invocable Text>
void expect(bool condition, const Text& text, SourceLocation at = SourceLocation::current()) {
  if (!condition) {
    throw ArgumentError(text(), at);
  }
}

/// Throws ConfigError with `message` unless `condition` holds: for user input, files, environment.
inline void validate(bool condition, const std::string& message,
                     SourceLocation at = SourceLocation::current()) {
  if (!condition) {
    throw ConfigError(message, at);
  }
}

/// The same with a text that is made on failure only: for what is checked once an element.
template <std::invocable Text>
void validate(bool condition, const Text& text, SourceLocation at = SourceLocation::current()) {
  if (!condition) {
    throw ConfigError(text(), at);
  }
}

}  // namespace sherd
