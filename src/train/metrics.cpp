#include "sherd/train/metrics.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "sherd/base/error.hpp"
#include "sherd/base/json.hpp"

namespace sherd::train {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* what) {
  throw IoError(fmt::format("{}: cannot {} ({}). Try: another logging.directory", path.string(),
                            what, std::strerror(errno)));
}

/// Whether `line` is a whole line of a step below `first_step`.
bool keeps(const std::string& line, std::int64_t first_step) {
  const auto json = parse_json_or_null<nlohmann::json>(line);
  const auto step = json.is_object() ? json.find("step") : json.end();
  return json.is_object() && step != json.end() && step->is_number_integer() &&
         step->get<std::int64_t>() < first_step;
}

/// Rewrites `file` without the lines that a run from `first_step` on writes again.
void cut(const std::filesystem::path& file, std::int64_t first_step) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    return;
  }
  auto temporary = file;
  temporary += ".tmp";
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  bool dropped = false;
  for (std::string line; std::getline(in, line);) {
    const bool whole = !in.eof();
    if (whole && keeps(line, first_step)) {
      out << line << '\n';
    } else {
      dropped = true;
    }
  }
  out.close();
  if (!out) {
    fail(temporary, "write");
  }
  if (dropped) {
    std::filesystem::rename(temporary, file);
  } else {
    std::filesystem::remove(temporary);
  }
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

MetricsWriter::MetricsWriter(std::filesystem::path file, std::int64_t first_step)
    : path_(std::move(file)) {
  std::error_code error;
  if (path_.has_parent_path()) {
    std::filesystem::create_directories(path_.parent_path(), error);
  }
  cut(path_, first_step);
  out_.open(path_, std::ios::binary | std::ios::app);
  if (!out_) {
    fail(path_, "open");
  }
}

void MetricsWriter::write(const StepMetrics& metrics) {
  out_ << to_json_line(metrics) << '\n' << std::flush;
  if (!out_) {
    fail(path_, "write");
  }
}

}  // namespace sherd::train
