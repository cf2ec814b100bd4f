#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "config/keys.hpp"
#include "config/nearest_name.hpp"
#include "config/value.hpp"
#include "sherd/base/error.hpp"

/// One function for each kind of value. `field` maps a (const) TrainConfig& to its member.
namespace sherd::config {

template <class Field>
ConfigKey whole(std::string path, std::string meaning, std::string example, Field field,
                std::int64_t minimum, std::int64_t maximum) {
  return {std::move(path),
          std::move(meaning),
          std::move(example),
          false,
          [=](TrainConfig& c, const YAML::Node& node) {
            std::int64_t value = 0;
            auto problem = read_whole(node, minimum, maximum, value);
            if (problem.empty()) {
              field(c) = static_cast<std::decay_t<decltype(field(c))>>(value);
            }
            return problem;
          },
          [=](const TrainConfig& c) { return nlohmann::json(field(c)); }};
}

template <class Field>
ConfigKey optional_whole(std::string path, std::string meaning, std::string example, Field field,
                         std::int64_t minimum) {
  return {std::move(path),
          std::move(meaning),
          std::move(example),
          false,
          [=](TrainConfig& c, const YAML::Node& node) {
            std::int64_t value = 0;
            auto problem = read_whole(node, minimum, 1 << 24, value);
            if (problem.empty()) {
              field(c) = static_cast<int>(value);
            }
            return problem;
          },
          [=](const TrainConfig& c) {
            return field(c) ? nlohmann::json(*field(c)) : nlohmann::json();
          }};
}

/// Bounds of a real number.
struct Bounds {
  double minimum = -std::numeric_limits<double>::max();
  double maximum = std::numeric_limits<double>::max();
  bool minimum_excluded = false;
  bool maximum_excluded = false;

  /// What is wrong with `value`, "" when nothing is.
  [[nodiscard]] std::string check(double value) const;
};
inline Bounds above(double minimum) {
  return {minimum, std::numeric_limits<double>::max(), true, false};
}
inline Bounds from(double minimum) {
  return {minimum, std::numeric_limits<double>::max(), false, false};
}

template <class Field>
ConfigKey real(std::string path, std::string meaning, std::string example, Field field,
               Bounds bounds) {
  return {std::move(path),
          std::move(meaning),
          std::move(example),
          false,
          [=](TrainConfig& c, const YAML::Node& node) {
            double value = 0;
            auto problem = read_real(node, value);
            if (problem.empty()) {
              problem = bounds.check(value);
            }
            if (problem.empty()) {
              field(c) = value;
            }
            return problem;
          },
          [=](const TrainConfig& c) { return nlohmann::json(field(c)); }};
}

template <class Field>
ConfigKey flag(std::string path, std::string meaning, std::string example, Field field) {
  return {std::move(path),
          std::move(meaning),
          std::move(example),
          false,
          [=](TrainConfig& c, const YAML::Node& node) { return read_flag(node, field(c)); },
          [=](const TrainConfig& c) { return nlohmann::json(field(c)); }};
}

template <class Field>
ConfigKey word(std::string path, std::string meaning, std::string example, Field field) {
  return {std::move(path),
          std::move(meaning),
          std::move(example),
          false,
          [=](TrainConfig& c, const YAML::Node& node) { return read_word(node, field(c)); },
          [=](const TrainConfig& c) {
            return field(c).empty() ? nlohmann::json() : nlohmann::json(field(c));
          }};
}

template <class Field>
ConfigKey path(std::string key, std::string meaning, std::string example, Field field) {
  return {std::move(key),
          std::move(meaning),
          std::move(example),
          false,
          [=](TrainConfig& c, const YAML::Node& node) {
            std::string text;
            auto problem = read_word(node, text);
            if (problem.empty()) {
              field(c) = text;
            }
            return problem;
          },
          [=](const TrainConfig& c) {
            return field(c).empty() ? nlohmann::json() : nlohmann::json(field(c).string());
          }};
}

template <class Field>
ConfigKey paths(std::string key, std::string meaning, std::string example, Field field) {
  return {std::move(key),
          std::move(meaning),
          std::move(example),
          false,
          [=](TrainConfig& c, const YAML::Node& node) {
            std::vector<std::string> words;
            auto problem = read_words(node, words);
            if (problem.empty()) {
              field(c).assign(words.begin(), words.end());
            }
            return problem;
          },
          [=](const TrainConfig& c) {
            auto list = nlohmann::json::array();
            for (const auto& entry : field(c)) {
              list.push_back(entry.string());
            }
            return list.empty() ? nlohmann::json() : list;
          }};
}

/// "'adamm' is not one of adamw, sgd; did you mean adamw?"
[[nodiscard]] std::string not_one_of(const std::string& word,
                                     const std::vector<std::string>& words);

template <class E>
using Names = std::vector<std::pair<std::string, E>>;

template <class E, class Field>
ConfigKey choice(std::string path, std::string meaning, std::string example, Field field,
                 Names<E> names) {
  return {std::move(path),
          std::move(meaning),
          std::move(example),
          false,
          [=](TrainConfig& c, const YAML::Node& node) -> std::string {
            std::string text;
            if (auto problem = read_word(node, text); !problem.empty()) {
              return problem;
            }
            std::vector<std::string> words;
            for (const auto& [name, value] : names) {
              if (name == text) {
                field(c) = value;
                return {};
              }
              words.push_back(name);
            }
            return not_one_of(text, words);
          },
          [=](const TrainConfig& c) {
            for (const auto& [name, value] : names) {
              if (value == field(c)) {
                return nlohmann::json(name);
              }
            }
            return nlohmann::json();
          }};
}

template <class Field>
ConfigKey word_of(std::string path, std::string meaning, std::string example, Field field,
                  const std::vector<std::string>& words) {
  Names<std::string> names;
  for (const auto& each : words) {
    names.emplace_back(each, each);
  }
  return choice<std::string>(std::move(path), std::move(meaning), std::move(example), field,
                             std::move(names));
}

/// The key of a model's size.
[[nodiscard]] ConfigKey size_of_model(const models::Field& field);
[[nodiscard]] ConfigKey betas(std::string path, std::string meaning, std::string example);
[[nodiscard]] ConfigKey strategy(std::string path, std::string meaning, std::string example);
[[nodiscard]] ConfigKey version(std::string path, std::string meaning, std::string example);

}  // namespace sherd::config
