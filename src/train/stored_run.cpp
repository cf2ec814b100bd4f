#include "train/stored_run.hpp"

#include <fmt/format.h>

#include <exception>

#include "sherd/base/error.hpp"
#include "sherd/io/inspect.hpp"

namespace sherd::train {
namespace {

std::string config_in(const std::filesystem::path& step_folder) {
  try {
    return io::CheckpointReader(step_folder).common("config");
  } catch (const std::exception&) {  // damaged, or another program's
    return "";
  }
}

}  // namespace

StoredRun find_stored_run(const std::filesystem::path& directory) {
  StoredRun found;
  try {
    found.maybe = !io::list_checkpoints(directory).empty();
    found.folder = io::resolve_checkpoint(directory);
    found.config = config_in(found.folder);
  } catch (const std::exception&) {  // nothing committed, not there yet, or not readable
  }
  return found;
}

StoredRun find_given_run(const std::filesystem::path& load_from) {
  try {
    const std::filesystem::path folder = io::resolve_checkpoint(load_from);
    return {folder, config_in(folder), true};
  } catch (const std::exception& error) {
    throw ConfigError(
        fmt::format("checkpoint.load_from: {} (the run is to start from it). Try: a step folder, "
                    "or a directory that has one",
                    error.what()));
  }
}

}  // namespace sherd::train
