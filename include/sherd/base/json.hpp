#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "sherd/base/error.hpp"
#include "sherd/base/printable.hpp"

/// Reading JSON that others wrote. Templates over the JSON type, so that this header needs no JSON
/// library.
namespace sherd {

/// Deepest nesting that is read. Printing, copying and destroying a value recurse as deep as it is.
inline constexpr int kDeepestJson = 64;

/// Throws ConfigError when `text` opens more than kDeepestJson lists and objects inside each other.
/// `what` names the text in the message. Looks at brackets outside strings alone; linear. Local.
void refuse_deep_json(std::string_view text, std::string_view what);

/// "WHAT: not readable as JSON: REASON", the reason shortened where it quotes the text at length.
[[nodiscard]] ConfigError not_json(std::string_view what, std::string_view reason,
                                   SourceLocation at = SourceLocation::current());

/// The value of a text by anybody; more arguments go to Json::parse. Throws ConfigError naming
/// `what` when it is no JSON or too deep. Local.
template <class Json, class... More>
[[nodiscard]] Json parse_json(std::string_view text, std::string_view what, More&&... more) {
  refuse_deep_json(text, what);
  try {
    return Json::parse(text.begin(), text.end(), std::forward<More>(more)...);
  } catch (const typename Json::exception& error) {
    throw not_json(what, error.what());
  }
}

/// The same; a discarded or null value where parse_json would throw.
template <class Json>
[[nodiscard]] Json parse_json_or_null(std::string_view text) {
  try {
    return parse_json<Json>(text, "");
  } catch (const ConfigError&) {
    return Json();
  }
}

/// A value as a message quotes it, its end left out when it is long.
template <class Json>
[[nodiscard]] std::string quoted_json(const Json& value) {
  constexpr std::size_t kLongest = 100;
  std::string text = value.dump();
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + " ...";
}

/// A whole number that T can hold; Json::get would cast silently. Throws ConfigError naming `what`.
template <std::integral T, class Json>
[[nodiscard]] T whole_number(const Json& value, std::string_view what) {
  if (value.is_number_unsigned()) {
    const auto number = value.template get<std::uint64_t>();
    if (std::in_range<T>(number)) {
      return static_cast<T>(number);
    }
  } else if (value.is_number_integer()) {
    const auto number = value.template get<std::int64_t>();
    if (std::in_range<T>(number)) {
      return static_cast<T>(number);
    }
  }
  const bool number = value.is_number();
  throw ConfigError(std::string(what) + ": " + (number ? quoted_json(value) : "what it has") +
                    " is not a whole number from " + std::to_string(std::numeric_limits<T>::min()) +
                    " to " + std::to_string(std::numeric_limits<T>::max()));
}

}  // namespace sherd
