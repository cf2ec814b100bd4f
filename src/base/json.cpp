#include "sherd/base/json.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sherd {
namespace {

constexpr std::size_t kLongestReason = 160;

/// Where the string that begins at `quote` ends; the last place of the text if it does not.
std::size_t end_of_string(std::string_view text, std::size_t quote) {
  std::size_t at = quote + 1;
  while (at < text.size() && text[at] != '"') {
    at += text[at] == '\\' ? 2U : 1U;
  }
  return at;
}

}  // namespace

void refuse_deep_json(std::string_view text, std::string_view what) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      at = end_of_string(text, at);
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepestJson) {
        throw ConfigError(fmt::format(
            "{}: its JSON is nested more than {} deep (no such file is). Try: the file as its "
            "program wrote it",
            printable_name(what), kDeepestJson));
      }
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

ConfigError not_json(std::string_view what, std::string_view reason, SourceLocation at) {
  if (reason.starts_with("[")) {  // the name of the library's exception
    reason.remove_prefix(std::min(reason.size(), reason.find("] ") + 2));
  }
  const bool cut = reason.size() > kLongestReason;
  return ConfigError(
      fmt::format("{}: not readable as JSON: {}{}", printable_name(what),
                  printable_name(reason.substr(0, kLongestReason)), cut ? " ..." : ""),
      at);
}

}  // namespace sherd
