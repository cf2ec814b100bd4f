#include "config/problems.hpp"

#include <algorithm>
#include <limits>

#include "sherd/base/error.hpp"

namespace sherd::config {

void Problems::add(const Origin& origin, std::string_view key, std::string_view problem,
                   std::string_view why, std::string_view suggestion) {
  std::string text = origin.text;
  text.append(": ");
  if (!key.empty()) {
    text.append(key).append(": ");
  }
  text.append(problem);
  if (!why.empty()) {
    text.append(" (").append(why).append(")");
  }
  if (!suggestion.empty()) {
    text.append(". Try: ").append(suggestion);
  }
  const int order = origin.line > 0 ? origin.line : std::numeric_limits<int>::max();
  lines_.push_back({order, std::move(text)});
  taint(key);
}

bool Problems::concern(std::string_view key) const {
  const std::string section = std::string(key) + ".";
  const auto below = keys_.lower_bound(section);
  return keys_.count(key) != 0 || (below != keys_.end() && below->rfind(section, 0) == 0);
}

void Problems::throw_if_any() const {
  if (lines_.empty()) {
    return;
  }
  auto sorted = lines_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Line& a, const Line& b) { return a.order < b.order; });
  std::string message;
  for (const Line& line : sorted) {
    message.append(message.empty() ? "" : "\n").append(line.text);
  }
  throw ConfigError(message);
}

}  // namespace sherd::config
