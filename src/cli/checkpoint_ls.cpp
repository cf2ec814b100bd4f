#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "cli/checkpoint_commands.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/printable.hpp"
#include "sherd/io/inspect.hpp"

namespace sherd::cli {
namespace {

using Json = nlohmann::json;

std::vector<io::FolderInfo> survey(const std::string& directory) {
  try {
    return io::survey_checkpoints(directory);
  } catch (const IoError& error) {
    throw ConfigError(error.what());
  }
}

std::string local_time(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(time));
}

std::string utc(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time));
}

Json json_of(const io::FolderInfo& info) {
  return {{"step", info.step},
          {"state", std::string(to_string(info.state))},
          {"pinned", info.pinned},
          {"bytes", info.bytes},
          {"ranks", info.ranks == 0 ? Json() : Json(info.ranks)},
          {"time", utc(info.modified)},
          {"path", info.path.string()}};
}

std::string row(const io::FolderInfo& info) {
  const std::string ranks = info.ranks == 0 ? "-" : std::to_string(info.ranks);
  const std::string state =
      fmt::format("{}{}", to_string(info.state), info.pinned ? ", pinned" : "");
  return fmt::format("{:>10}  {:<17}  {:>10}  {:>5}  {}  {}\n", info.step, state,
                     human(static_cast<double>(info.bytes)), ranks, local_time(info.modified),
                     printable_name(info.path.string()));
}

}  // namespace

int list_directory(const Request& request) {
  const std::vector<io::FolderInfo> found = survey(request.checkpoint);
  if (request.ckpt.json) {
    Json list = Json::array();
    for (const io::FolderInfo& info : found) {
      list.push_back(json_of(info));
    }
    print(Json{{"directory", request.checkpoint}, {"checkpoints", std::move(list)}});
    return 0;
  }
  if (found.empty()) {
    print(fmt::format("no checkpoints in {}\n", request.checkpoint));
    return 0;
  }
  print(fmt::format("{:>10}  {:<17}  {:>10}  {:>5}  {:<19}  {}\n", "step", "state", "size", "ranks",
                    "time", "path"));
  for (const io::FolderInfo& info : found) {
    print(row(info));
  }
  return 0;
}

}  // namespace sherd::cli
