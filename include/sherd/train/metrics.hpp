#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace sherd::train {

/// The newest save, as rank 0 sees its part of it at the end of a step.
struct CheckpointMetrics {
  std::int64_t step = -1;  ///< none yet
  std::string phase;
  std::uint64_t bytes_total = 0;
  std::uint64_t bytes_written = 0;
  double bytes_per_second = 0.0;
  double seconds_left = 0.0;
};

/// What one optimizer step did, over all ranks.
struct StepMetrics {
  std::int64_t step = 0;   ///< counts from 1
  double loss = 0.0;       ///< mean over all tokens of the global batch
  double grad_norm = 0.0;  ///< before clipping
  double learning_rate = 0.0;
  double tokens_per_second = 0.0;  ///< whole job
  double step_seconds = 0.0;
  std::map<std::string, std::uint64_t> memory_bytes;  ///< this rank's, by kind
  double checkpoint_stall_seconds = 0.0;
  CheckpointMetrics checkpoint;
};

/// One JSON line, without the newline. Numbers read back to the same bits; non-finite ones are
/// null.
[[nodiscard]] std::string to_json_line(const StepMetrics& metrics);

/// Appends a JSON line a step to a file. Local; used by rank 0. Throws IoError.
class MetricsWriter {
 public:
  /// Opens `file` (made when absent) and cuts every line of a step >= `first_step`, so that a
  /// resumed run writes no step twice. A last line that a killed run left half written goes too.
  MetricsWriter(std::filesystem::path file, std::int64_t first_step);
  void write(const StepMetrics& metrics);

 private:
  std::filesystem::path path_;
  std::ofstream out_;
};

}  // namespace sherd::train
