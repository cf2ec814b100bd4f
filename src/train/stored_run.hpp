#pragma once

#include <filesystem>
#include <string>

namespace sherd::train {

/// What a run may go on from, as it lies on disk. Local; nothing is changed.
struct StoredRun {
  std::filesystem::path folder;  ///< of the step that a load takes first; empty: there is none
  std::string config;            ///< its configuration; "" when it cannot be read
  bool maybe = false;            ///< a save in flight or interrupted may become one
};

/// In a run's own directory. What is wrong with it the load will say.
[[nodiscard]] StoredRun find_stored_run(const std::filesystem::path& directory);

/// What checkpoint.load_from names: a step folder, or a directory of them, which means its newest
/// committed one. Throws ConfigError when there is none.
[[nodiscard]] StoredRun find_given_run(const std::filesystem::path& load_from);

}  // namespace sherd::train
