#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
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

class LineFile;

/// Appends a JSON line a step to a file. Local; used by rank 0. A full disk or a folder that is
/// gone is one warning, and another once lines are written again: a log is not worth a run.
class MetricsWriter {
 public:
  /// Opens `file` (made when absent) and cuts every line of a step >= `first_step`, so that a
  /// resumed run writes no step twice. A last line that a killed run left half written goes too.
  /// Throws IoError when the place makes no sense (permissions, a file where a folder should be).
  MetricsWriter(const std::filesystem::path& file, std::int64_t first_step);
  ~MetricsWriter();
  MetricsWriter(const MetricsWriter&) = delete;
  MetricsWriter& operator=(const MetricsWriter&) = delete;

  void write(const StepMetrics& metrics);

 private:
  std::unique_ptr<LineFile> lines_;
  std::int64_t lost_since_ = 0;  ///< the first step without a line, 0: none
};

}  // namespace sherd::train
