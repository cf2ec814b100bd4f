#include "sherd/train/run_folder.hpp"

#include <fmt/format.h>

#include <fstream>

#include "sherd/base/error.hpp"

namespace sherd::train {

void write_resolved_config(const TrainConfig& config) {
  const auto& folder = config.logging.directory;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::ofstream out;
  if (!error) {
    out.open(folder / "config.yaml", std::ios::binary | std::ios::trunc);
    out << config.resolved_yaml;
    out.close();
  }
  if (error || !out) {
    throw ConfigError(
        fmt::format("logging.directory: {} cannot be written to{} (metrics.jsonl and "
                    "config.yaml go there). Try: another folder",
                    folder.string(), error ? ": " + error.message() : ""));
  }
}

std::filesystem::path metrics_file(const TrainConfig& config) {
  return config.logging.directory / "metrics.jsonl";
}

}  // namespace sherd::train
