// Single YAML values, read strictly.
#include "config/value.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "sherd/base/printable.hpp"

namespace sherd::config {
namespace {

/// How a value is named in messages.
std::string shown(const YAML::Node& node) {
  if (node.IsSequence()) {
    return "a list";
  }
  if (node.IsMap()) {
    return "a map";
  }
  return "'" + node.Scalar() + "'";
}

std::string not_a(const YAML::Node& node, const char* wanted) {
  if (node.IsNull()) {
    return fmt::format("has no value, {} is needed", wanted);
  }
  const bool quoted = node.IsScalar() && node.Tag() == "!";
  return fmt::format("{} is not {}{}", shown(node), wanted, quoted ? " but text in quotes" : "");
}

template <class T>
bool parse_plain(const YAML::Node& node, T& out) {
  if (!node.IsScalar() || node.Tag() == "!") {
    return false;
  }
  const std::string& text = node.Scalar();
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  return error == std::errc() && stop == end;
}

}  // namespace

std::string read_whole(const YAML::Node& node, std::int64_t minimum, std::int64_t maximum,
                       std::int64_t& out) {
  std::int64_t value = 0;
  if (!parse_plain(node, value)) {
    return not_a(node, "a whole number");
  }
  if (value < minimum) {
    return fmt::format("{} is out of range, the least is {}", value, minimum);
  }
  if (value > maximum) {
    return fmt::format("{} is out of range, the most is {}", value, maximum);
  }
  out = value;
  return {};
}

std::string read_real(const YAML::Node& node, double& out) {
  double value = 0;
  if (!parse_plain(node, value) || !std::isfinite(value)) {
    return not_a(node, "a finite number");
  }
  out = value;
  return {};
}

std::string read_flag(const YAML::Node& node, bool& out) {
  const std::string text = node.IsScalar() && node.Tag() != "!" ? node.Scalar() : "";
  const bool yes = text == "true" || text == "True" || text == "TRUE";
  const bool no = text == "false" || text == "False" || text == "FALSE";
  if (!yes && !no) {
    return not_a(node, "true or false");
  }
  out = yes;
  return {};
}

std::string read_word(const YAML::Node& node, std::string& out) {
  if (!node.IsScalar() || node.Scalar().empty()) {
    return not_a(node, "a word");
  }
  if (!is_utf8(node.Scalar())) {  // a checkpoint holds the configuration as JSON
    return not_a(node, "text in UTF-8");
  }
  out = node.Scalar();
  return {};
}

std::string read_words(const YAML::Node& node, std::vector<std::string>& out) {
  std::vector<std::string> words;
  if (node.IsSequence()) {
    for (const YAML::Node& item : node) {
      if (auto problem = read_word(item, words.emplace_back()); !problem.empty()) {
        return fmt::format("entry {}: {}", words.size(), problem);
      }
    }
  } else if (auto problem = read_word(node, words.emplace_back()); !problem.empty()) {
    return problem;
  }
  if (words.empty()) {
    return "the list is empty";
  }
  out = std::move(words);
  return {};
}

std::string read_reals(const YAML::Node& node, std::size_t count, std::vector<double>& out) {
  if (!node.IsSequence() || node.size() != count) {
    return fmt::format("{} is not a list of {} numbers", shown(node), count);
  }
  std::vector<double> values;
  for (const YAML::Node& item : node) {
    if (auto problem = read_real(item, values.emplace_back()); !problem.empty()) {
      return fmt::format("entry {}: {}", values.size(), problem);
    }
  }
  out = std::move(values);
  return {};
}

}  // namespace sherd::config
