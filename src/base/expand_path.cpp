#include "sherd/base/expand_path.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <string>

#include "sherd/base/error.hpp"
#include "sherd/base/printable.hpp"

namespace sherd {
namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& problem) {
  throw ConfigError(fmt::format("'{}': {}", printable_name(text), problem));
}

bool in_name(char c, bool first) {
  const auto byte = static_cast<unsigned char>(c);
  return c == '_' || (first ? std::isalpha(byte) != 0 : std::isalnum(byte) != 0);
}

std::string variable(std::string_view text, std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  if (value == nullptr || *value == '\0') {
    refuse(text, fmt::format("the environment variable {} {}", name,
                             value == nullptr ? "is not set" : "is empty"));
  }
  return value;
}

/// The name behind a `$`, braces included; "" when there is none.
std::string_view reference(std::string_view rest) {
  const std::size_t start = rest.starts_with("{") ? 1 : 0;
  std::size_t end = start;
  while (end < rest.size() && in_name(rest[end], end == start)) {
    ++end;
  }
  if (end == start || (start == 1 && (end == rest.size() || rest[end] != '}'))) {
    return {};
  }
  return rest.substr(0, end + start);
}

std::string expand_variables(std::string_view text, std::string_view rest) {
  std::string out;
  while (!rest.empty()) {
    const std::size_t dollar = rest.find('$');
    out.append(rest.substr(0, dollar));
    if (dollar == std::string_view::npos) {
      break;
    }
    rest.remove_prefix(dollar + 1);
    if (rest.starts_with("$")) {
      out.push_back('$');
      rest.remove_prefix(1);
      continue;
    }
    const std::string_view name = reference(rest);
    if (name.empty()) {
      refuse(text, "a $ that no variable's name follows ($$ is a $)");
    }
    out += variable(text, name.starts_with("{") ? name.substr(1, name.size() - 2) : name);
    rest.remove_prefix(name.size());
  }
  return out;
}

}  // namespace

std::filesystem::path expand_path(std::string_view text) {
  if (!text.starts_with("~")) {
    return expand_variables(text, text);
  }
  if (text.size() > 1 && text[1] != '/') {
    refuse(text, "of ~ only the own home folder is known, ~ or ~/, not those of users by name");
  }
  return variable(text, "HOME") + expand_variables(text, text.substr(1));
}

}  // namespace sherd
