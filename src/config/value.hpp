#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <string>
#include <vector>

/// Reading one YAML scalar or list strictly: no octal, no "yes", no numbers in quotes. Each returns
/// what is wrong, "" when nothing is.
namespace sherd::config {

[[nodiscard]] std::string read_whole(const YAML::Node& node, std::int64_t minimum,
                                     std::int64_t maximum, std::int64_t& out);
[[nodiscard]] std::string read_real(const YAML::Node& node, double& out);
[[nodiscard]] std::string read_flag(const YAML::Node& node, bool& out);
[[nodiscard]] std::string read_word(const YAML::Node& node, std::string& out);
/// One word or a list of words; at least one.
[[nodiscard]] std::string read_words(const YAML::Node& node, std::vector<std::string>& out);
/// Exactly `count` numbers.
[[nodiscard]] std::string read_reals(const YAML::Node& node, std::size_t count,
                                     std::vector<double>& out);

}  // namespace sherd::config
