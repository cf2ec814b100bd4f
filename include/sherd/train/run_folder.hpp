#pragma once

#include <filesystem>

#include "sherd/train/config.hpp"

namespace sherd::train {

/// Writes logging.directory/config.yaml: every value with its origin. Local; for rank 0. Throws
/// ConfigError when the folder cannot be written to.
void write_resolved_config(const TrainConfig& config);

/// logging.directory/metrics.jsonl.
[[nodiscard]] std::filesystem::path metrics_file(const TrainConfig& config);

}  // namespace sherd::train
