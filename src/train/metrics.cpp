#include "sherd/train/metrics.hpp"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "sherd/base/error.hpp"
#include "sherd/base/json.hpp"
#include "sherd/base/log.hpp"
#include "train/line_file.hpp"

namespace sherd::train {
namespace {

/// Whether `line` is a whole line of a step below `first_step`.
bool keeps(const std::string& line, std::int64_t first_step) {
  const auto json = parse_json_or_null<nlohmann::json>(line);
  const auto step = json.is_object() ? json.find("step") : json.end();
  return json.is_object() && step != json.end() && step->is_number_integer() &&
         step->get<std::int64_t>() < first_step;
}

/// What a run from `first_step` on leaves of a file's text; lines are by ascending step, so that it
/// mostly is the beginning of it.
std::string kept_lines(const std::filesystem::path& file, std::int64_t first_step) {
  std::ifstream in(file, std::ios::binary);
  std::string kept;
  for (std::string line; std::getline(in, line);) {
    if (!in.eof() && keeps(line, first_step)) {
      kept += line + '\n';
    }
  }
  return kept;
}

/// Drops the lines that a run from `first_step` on writes again. Cutting the end off needs no room
/// on the disk. 0 or errno.
int cut(const std::filesystem::path& file, std::int64_t first_step) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(file, unknown))) {
    // A link or another kind: open() says what.
    return 0;
  }
  std::ifstream in(file, std::ios::binary);
  const std::string kept = kept_lines(file, first_step);
  std::string begin(kept.size(), '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (begin != kept) {
    return replace_text(file, kept);
  }
  std::error_code error;
  if (std::filesystem::file_size(file, error) != kept.size() && !error) {
    std::filesystem::resize_file(file, kept.size(), error);
  }
  return error.value();
}

}  // namespace

std::string to_json_line(const StepMetrics& metrics) {
  nlohmann::ordered_json json;
  json["step"] = metrics.step;
  json["loss"] = metrics.loss;
  json["grad_norm"] = metrics.grad_norm;
  json["learning_rate"] = metrics.learning_rate;
  json["tokens_per_second"] = metrics.tokens_per_second;
  json["step_seconds"] = metrics.step_seconds;
  json["memory_bytes"] = nlohmann::ordered_json::object();
  for (const auto& [kind, bytes] : metrics.memory_bytes) {
    json["memory_bytes"][kind] = bytes;
  }
  json["checkpoint_stall_seconds"] = metrics.checkpoint_stall_seconds;
  if (metrics.checkpoint.step >= 0) {
    const CheckpointMetrics& save = metrics.checkpoint;
    json["checkpoint"] = {{"step", save.step},
                          {"phase", save.phase},
                          {"bytes_total", save.bytes_total},
                          {"bytes_written", save.bytes_written},
                          {"bytes_per_second", save.bytes_per_second},
                          {"seconds_left", save.seconds_left}};
  }
  return json.dump();
}

MetricsWriter::MetricsWriter(const std::filesystem::path& file, std::int64_t first_step)
    : lines_(std::make_unique<LineFile>(file)) {
  std::error_code ignored;
  if (file.has_parent_path()) {
    std::filesystem::create_directories(file.parent_path(), ignored);
  }
  int error = cut(file, first_step);
  error = error != 0 ? error : lines_->open();
  if (error != 0 && !may_pass(error)) {
    throw IoError(fmt::format("{}: cannot open ({}). Try: another logging.directory", file.string(),
                              std::strerror(error)));
  }
}

MetricsWriter::~MetricsWriter() = default;

void MetricsWriter::write(const StepMetrics& metrics) {
  const int error = lines_->append(to_json_line(metrics));
  if (error != 0 && lost_since_ == 0) {
    lost_since_ = metrics.step;
    log::warning(fmt::format(
        "{}: cannot write ({}); training goes on without it. Try: making room, or another "
        "logging.directory",
        lines_->path().string(), std::strerror(error)));
  } else if (error == 0 && lost_since_ != 0) {
    log::warning(fmt::format("{} is written again; the lines of steps {} to {} are missing",
                             lines_->path().string(), std::exchange(lost_since_, 0),
                             metrics.step - 1));
  }
}

}  // namespace sherd::train
