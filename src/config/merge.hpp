#pragma once

#include <yaml-cpp/yaml.h>

#include <functional>
#include <list>
#include <string>

namespace sherd::config {

/// A key of a map and its value.
struct MapEntry {
  std::string name;
  YAML::Node key;
  YAML::Node value;
};

/// Is told of every problem: the node it is at, the key, the problem, why it matters, what to
/// write.
using MapProblem = std::function<void(const YAML::Node&, const std::string&, const std::string&,
                                      const std::string&, const std::string&)>;

/// The entries of a map with those that its merge keys (`<<: *other`, or a list of such) bring.
/// What a map gives itself counts before what it merges, the first of a list before the next. Keys
/// given twice and values that cannot be merged are reported. A map that merges itself ends.
[[nodiscard]] std::list<MapEntry> merged_entries(const YAML::Node& map, const MapProblem& report);

}  // namespace sherd::config
