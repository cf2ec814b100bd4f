// How values of each kind are read from YAML and shown as JSON.
#include "config/codecs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/nearest_name.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/expand_path.hpp"
#include "sherd/base/printable.hpp"

namespace sherd::config {

std::string Bounds::check(double value) const {
  if (value < minimum || (minimum_excluded && value == minimum)) {
    return fmt::format("{} is out of range, it must be {} {}", value,
                       minimum_excluded ? "above" : "at least", minimum);
  }
  if (value > maximum || (maximum_excluded && value == maximum)) {
    return fmt::format("{} is out of range, it must be {} {}", value,
                       maximum_excluded ? "below" : "at most", maximum);
  }
  return {};
}

std::string not_one_of(const std::string& word, const std::vector<std::string>& words) {
  const std::string near = nearest_name(word, words);
  return fmt::format("'{}' is not one of {}{}", word, fmt::join(words, ", "),
                     near.empty() ? "" : "; did you mean " + near + "?");
}

namespace {

/// Reads a value of the kind that `value` has; returns what is wrong with it.
std::string read_size(const models::Field& field, const YAML::Node& node,
                      models::FieldValue& value) {
  if (auto* whole = std::get_if<std::int64_t>(&value)) {
    return read_whole(node, field.minimum, field.maximum, *whole);
  }
  if (auto* flag = std::get_if<bool>(&value)) {
    return read_flag(node, *flag);
  }
  auto& real = std::get<double>(value);
  const std::string problem = read_real(node, real);
  const Bounds bounds =
      field.real_minimum_excluded ? above(field.real_minimum) : from(field.real_minimum);
  return problem.empty() ? bounds.check(real) : problem;
}

}  // namespace

ConfigKey size_of_model(const models::Field& field) {
  return {"model." + field.name,
          field.arithmetic ? OnResume::refused : OnResume::noted,
          field.meaning,
          field.example,
          false,
          [field](TrainConfig& c, const YAML::Node& node) {
            models::FieldValue value = field.get(c.model.spec.sizes());
            std::string problem = read_size(field, node, value);
            if (problem.empty()) {
              field.set(c.model.spec.sizes(), value);
            }
            return problem;
          },
          [field](const TrainConfig& c) {
            return std::visit([](auto value) { return nlohmann::json(value); },
                              field.get(c.model.spec.sizes()));
          }};
}

std::string OptionalWhole::read(const YAML::Node& node, std::optional<int>& out) const {
  std::int64_t value = 0;
  auto problem = read_whole(node, minimum, 1 << 24, value);
  if (problem.empty()) {
    out = static_cast<int>(value);
  }
  return problem;
}

nlohmann::json OptionalWhole::show(const std::optional<int>& value) const {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

std::string Real::read(const YAML::Node& node, double& out) const {
  double value = 0;
  auto problem = read_real(node, value);
  if (problem.empty()) {
    problem = bounds.check(value);
  }
  if (problem.empty()) {
    out = value;
  }
  return problem;
}

nlohmann::json Word::show(const std::string& value) const {
  return value.empty() ? nlohmann::json() : nlohmann::json(value);
}

namespace {

/// What is wrong with a path whose ~ and $NAME cannot be replaced.
std::string read_path(const std::string& text, std::filesystem::path& out) {
  try {
    out = expand_path(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return is_utf8(out.string()) ? std::string() : "'" + text + "' is not text in UTF-8";
}

/// As a user would write it, so that it can be read again.
std::string written(const std::filesystem::path& path) {
  std::string text;
  for (const char c : path.string()) {
    text.append(c == '$' ? "$$" : std::string(1, c));
  }
  return text;
}

}  // namespace

std::string PathName::read(const YAML::Node& node, std::filesystem::path& out) const {
  std::string text;
  auto problem = read_word(node, text);
  return problem.empty() ? read_path(text, out) : problem;
}

nlohmann::json PathName::show(const std::filesystem::path& value) const {
  return value.empty() ? nlohmann::json() : nlohmann::json(written(value));
}

std::string PathNames::read(const YAML::Node& node, std::vector<std::filesystem::path>& out) const {
  std::vector<std::string> words;
  auto problem = read_words(node, words);
  std::vector<std::filesystem::path> paths;
  for (std::size_t i = 0; problem.empty() && i < words.size(); ++i) {
    problem = read_path(words[i], paths.emplace_back());
  }
  if (problem.empty()) {
    out = std::move(paths);
  }
  return problem;
}

nlohmann::json PathNames::show(const std::vector<std::filesystem::path>& value) const {
  auto list = nlohmann::json::array();
  for (const auto& entry : value) {
    list.push_back(written(entry));
  }
  return list.empty() ? nlohmann::json() : list;
}

std::string Betas::read(const YAML::Node& node, std::array<double, 2>& out) const {
  std::vector<double> values;
  std::string problem = read_reals(node, 2, values);
  for (std::size_t i = 0; problem.empty() && i < 2; ++i) {
    problem = Bounds{0.0, 1.0, false, true}.check(values[i]);
  }
  if (problem.empty()) {
    out = {values[0], values[1]};
  }
  return problem;
}

Choice<fsdp::ShardingStrategy> strategy_names() {
  Choice<fsdp::ShardingStrategy> choice;
  for (const fsdp::StrategyRow& row : fsdp::kStrategies) {
    choice.names.emplace_back(row.name, row.strategy);
  }
  return choice;
}

ConfigKey version_key(KeyInfo info) {
  return {std::move(info.path),
          info.on_resume,
          std::move(info.meaning),
          std::move(info.example),
          false,
          [](TrainConfig&, const YAML::Node& node) -> std::string {
            std::int64_t value = 0;
            if (auto problem = read_whole(node, 1, std::numeric_limits<int>::max(), value);
                !problem.empty()) {
              return problem;
            }
            return value == 1 ? std::string()
                              : fmt::format(
                                    "version {} is newer than this program, which reads "
                                    "version 1",
                                    value);
          },
          [](const TrainConfig&) { return nlohmann::json(1); }};
}

}  // namespace sherd::config
