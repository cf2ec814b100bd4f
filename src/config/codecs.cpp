#include "config/codecs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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

ConfigKey betas(std::string path, std::string meaning, std::string example) {
  return {std::move(path),
          std::move(meaning),
          std::move(example),
          false,
          [](TrainConfig& c, const YAML::Node& node) {
            std::vector<double> values;
            std::string problem = read_reals(node, 2, values);
            for (std::size_t i = 0; problem.empty() && i < 2; ++i) {
              problem = Bounds{0.0, 1.0, false, true}.check(values[i]);
            }
            if (problem.empty()) {
              c.optimizer.betas = {values[0], values[1]};
            }
            return problem;
          },
          [](const TrainConfig& c) { return nlohmann::json(c.optimizer.betas); }};
}

ConfigKey strategy(std::string path, std::string meaning, std::string example) {
  return {std::move(path),
          std::move(meaning),
          std::move(example),
          false,
          [](TrainConfig& c, const YAML::Node& node) -> std::string {
            std::string text;
            if (auto problem = read_word(node, text); !problem.empty()) {
              return problem;
            }
            std::vector<std::string> names;
            for (const fsdp::StrategyRow& row : fsdp::kStrategies) {
              names.emplace_back(row.name);
              if (row.name == text) {
                c.fsdp_config.sharding_strategy = row.strategy;
                return {};
              }
            }
            return not_one_of(text, names);
          },
          [](const TrainConfig& c) {
            return nlohmann::json(std::string(fsdp::row(c.fsdp_config.sharding_strategy).name));
          }};
}

ConfigKey version(std::string path, std::string meaning, std::string example) {
  return {std::move(path),
          std::move(meaning),
          std::move(example),
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
