#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sherd::config {

/// Where a configuration value came from: a line of the file, the command line, a default.
struct Origin {
  enum class Kind : unsigned char { default_value, file, command_line, derived };
  Kind kind = Kind::default_value;
  std::string text = "default";  ///< "run.yaml:12", "command line", "default", "preset tiny"
  int line = 0;                  ///< 0: no line of the file
};

/// Everything wrong with a configuration, so that a user sees it all at once.
class Problems {
 public:
  /// "origin: key: problem (why). Try: suggestion". Empty why or suggestion leave their part out.
  void add(const Origin& origin, std::string_view key, std::string_view problem,
           std::string_view why, std::string_view suggestion);
  /// `key` is wrong too, as far as later checks are concerned (somebody misspelt it).
  void taint(std::string_view key) { keys_.emplace(key); }
  /// Whether a problem concerns `key`, or for a section any key in it.
  [[nodiscard]] bool concern(std::string_view key) const;
  [[nodiscard]] bool empty() const noexcept { return lines_.empty(); }
  /// Throws ConfigError with one line per problem, those of the file first and in its order.
  void throw_if_any() const;

 private:
  struct Line {
    int order;
    std::string text;
  };
  std::vector<Line> lines_;
  std::set<std::string, std::less<>> keys_;
};

}  // namespace sherd::config
