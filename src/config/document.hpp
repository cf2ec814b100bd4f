#pragma once

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "config/problems.hpp"

namespace sherd::config {

/// One value as the user wrote it.
struct ConfigEntry {
  std::string path;  ///< "training.steps"; without a dot for top-level keys
  YAML::Node value;
  Origin origin;
};

/// Entries are never assigned to: assigning a YAML::Node changes the node it refers to, hence a
/// list.
using ConfigEntries = std::list<ConfigEntry>;

/// The whole file as the user wrote it.
struct ConfigDocument {
  ConfigEntries entries;
  std::map<std::string, Origin> sections;  ///< where each section starts
};

/// Reads the file into entries, sections flattened. `sections` are the top-level keys that hold
/// maps. Duplicate keys and values of the wrong form go to `problems`. A file that cannot be read
/// or parsed throws ConfigError.
[[nodiscard]] ConfigDocument read_document(const std::filesystem::path& file,
                                           const std::vector<std::string>& sections,
                                           Problems& problems);

/// "training.steps=20" as an entry; the value is YAML.
void read_override(const std::string& text, ConfigEntries& entries, Problems& problems);

}  // namespace sherd::config
