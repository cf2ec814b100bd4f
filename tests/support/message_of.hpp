#pragma once

#include <functional>
#include <string>

namespace sherd::io::test {

/// The message of what `body` throws, which must be an `Expected`.
template <class Expected>
std::string message(const std::function<void()>& body) {
  try {
    body();
  } catch (const Expected& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace sherd::io::test
