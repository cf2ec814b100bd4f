#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/checkpoint_commands.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/error.hpp"
#include "sherd/io/inspect.hpp"

namespace sherd::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// A step folder, or what a directory of them holds that is or should be a checkpoint.
std::vector<fs::path> step_folders(const fs::path& path) {
  const std::string name =
      path.filename().empty() ? path.parent_path().filename().string() : path.filename().string();
  if (fs::exists(path / "COMMITTED.json") || (name.starts_with("step-") && fs::exists(path))) {
    return {path};
  }
  std::vector<fs::path> folders;
  try {
    for (const io::FolderInfo& info : io::survey_checkpoints(path)) {
      if (info.state != io::FolderState::in_flight && info.state != io::FolderState::set_aside) {
        folders.push_back(info.path);
      }
    }
  } catch (const IoError& error) {
    throw ConfigError(error.what());
  }
  validate(!folders.empty(),
           fmt::format("'{}' is neither a checkpoint nor a directory of some", path.string()));
  return folders;
}

Json json_of(const io::VerifyProblem& problem) {
  const bool placed = problem.end_byte > 0;
  return {{"file", problem.file},
          {"tensor", problem.tensor.empty() ? Json() : Json(problem.tensor)},
          {"rank", problem.rank < 0 ? Json() : Json(problem.rank)},
          {"first_byte", placed ? Json(problem.first_byte) : Json()},
          {"end_byte", placed ? Json(problem.end_byte) : Json()},
          {"text", problem.text}};
}

Json json_of(const fs::path& folder, const io::VerifyReport& report) {
  Json problems = Json::array();
  for (const io::VerifyProblem& problem : report.details) {
    problems.push_back(json_of(problem));
  }
  return {{"path", folder.string()},
          {"good", report.ok},
          {"removed", report.removed},
          {"bytes", report.bytes},
          {"problems", std::move(problems)}};
}

const char* verdict(const io::VerifyReport& report) {
  if (report.removed) {
    return "removed meanwhile";
  }
  if (report.unreadable) {
    return "CANNOT BE READ";
  }
  return report.ok ? "good" : "DAMAGED";
}

io::VerifyReport verify(const fs::path& folder, int threads) {
  ProgressLine line(folder.filename().string());
  return io::verify_checkpoint(folder, {threads, line.function()});
}

}  // namespace

int verify_checkpoints(const Request& request) {
  bool good = true;
  Json all = Json::array();
  for (const fs::path& folder : step_folders(request.checkpoint)) {
    const io::VerifyReport report = verify(folder, request.ckpt.threads);
    good = good && report.ok;
    if (request.ckpt.json) {
      all.push_back(json_of(folder, report));
      continue;
    }
    for (const std::string& problem : report.problems) {
      print(problem + "\n");
    }
    print(fmt::format("{}: {} ({} read)\n", folder.string(), verdict(report),
                      human(static_cast<double>(report.bytes))));
  }
  if (request.ckpt.json) {
    print(Json{{"good", good}, {"checkpoints", std::move(all)}});
  }
  return good ? 0 : 1;
}

}  // namespace sherd::cli
