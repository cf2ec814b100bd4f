#pragma once

#include <array>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/keys.hpp"
#include "config/value.hpp"

/// A key is made of what is said about it, the member it stands for, and a codec: how a value of
/// its kind is read from YAML (what is wrong with it, "" when nothing is) and shown as JSON (null
/// when unset).
namespace sherd::config {

/// A constructor, so that no row of the table can leave one out.
struct KeyInfo {
  KeyInfo(std::string key, OnResume change, std::string says, std::string worth_trying)
      : path(std::move(key)),
        on_resume(change),
        meaning(std::move(says)),
        example(std::move(worth_trying)) {}

  std::string path;
  OnResume on_resume;
  std::string meaning;
  std::string example;
};

/// `field` maps a (const) TrainConfig& to its member.
template <class Field, class Codec>
ConfigKey make_key(KeyInfo info, Field field, Codec codec) {
  return {std::move(info.path),
          info.on_resume,
          std::move(info.meaning),
          std::move(info.example),
          false,
          [=](TrainConfig& c, const YAML::Node& node) { return codec.read(node, field(c)); },
          [=](const TrainConfig& c) { return codec.show(field(c)); }};
}

struct Whole {
  std::int64_t minimum;
  std::int64_t maximum;

  template <class T>
  std::string read(const YAML::Node& node, T& out) const {
    std::int64_t value = 0;
    auto problem = read_whole(node, minimum, maximum, value);
    if (problem.empty()) {
      out = static_cast<T>(value);
    }
    return problem;
  }
  template <class T>
  nlohmann::json show(const T& value) const {
    return value;
  }
};

struct OptionalWhole {
  std::int64_t minimum;

  std::string read(const YAML::Node& node, std::optional<int>& out) const;
  nlohmann::json show(const std::optional<int>& value) const;
};

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

struct Real {
  Bounds bounds;

  std::string read(const YAML::Node& node, double& out) const;
  nlohmann::json show(double value) const { return value; }
};

struct Flag {
  std::string read(const YAML::Node& node, bool& out) const { return read_flag(node, out); }
  nlohmann::json show(bool value) const { return value; }
};

struct Word {
  std::string read(const YAML::Node& node, std::string& out) const { return read_word(node, out); }
  nlohmann::json show(const std::string& value) const;
};

struct PathName {
  std::string read(const YAML::Node& node, std::filesystem::path& out) const;
  nlohmann::json show(const std::filesystem::path& value) const;
};

struct PathNames {
  std::string read(const YAML::Node& node, std::vector<std::filesystem::path>& out) const;
  nlohmann::json show(const std::vector<std::filesystem::path>& value) const;
};

/// "'adamm' is not one of adamw, sgd; did you mean adamw?"
[[nodiscard]] std::string not_one_of(const std::string& word,
                                     const std::vector<std::string>& words);

/// One of several names. A value that has none is shown as unset.
template <class E>
struct Choice {
  std::vector<std::pair<std::string, E>> names;

  std::string read(const YAML::Node& node, E& out) const {
    std::string text;
    if (auto problem = read_word(node, text); !problem.empty()) {
      return problem;
    }
    std::vector<std::string> words;
    for (const auto& [name, value] : names) {
      if (name == text) {
        out = value;
        return {};
      }
      words.push_back(name);
    }
    return not_one_of(text, words);
  }
  nlohmann::json show(const E& value) const {
    for (const auto& [name, each] : names) {
      if (each == value) {
        return name;
      }
    }
    return {};
  }
};

struct Betas {
  std::string read(const YAML::Node& node, std::array<double, 2>& out) const;
  nlohmann::json show(const std::array<double, 2>& value) const { return value; }
};

/// The strategies by the names of their rows.
[[nodiscard]] Choice<fsdp::ShardingStrategy> strategy_names();

/// The key of a model's size.
[[nodiscard]] ConfigKey size_of_model(const models::Field& field);
/// config_version, which has no member: this program knows one.
[[nodiscard]] ConfigKey version_key(KeyInfo info);

}  // namespace sherd::config
