#include "io/commit/vote.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "io/disk/crash_point.hpp"
#include "io/disk/damaged.hpp"
#include "io/disk/file_ops.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/json.hpp"

namespace sherd::io {
namespace {

using Json = nlohmann::json;

std::filesystem::path mute_vote_path(const std::filesystem::path& step_folder, int rank) {
  return step_folder / "votes" / fmt::format("rank-{:05}.failed", rank);
}

Vote vote_of(const Json& json) {
  Vote vote;
  vote.rank = json.at("rank").get<int>();
  vote.uuid = json.at("uuid").get<std::string>();
  vote.ok = json.at("ok").get<bool>();
  vote.error = json.at("error").get<std::string>();
  vote.crc32c = json.at("crc32c").get<std::vector<std::uint32_t>>();
  vote.parts_crc32c = json.at("parts_crc32c").get<std::vector<std::vector<std::uint32_t>>>();
  vote.timing = timings_of(json.at("timing")).at(0);
  return vote;
}

}  // namespace

std::filesystem::path vote_path(const std::filesystem::path& step_folder, int rank) {
  return step_folder / "votes" / fmt::format("rank-{:05}.json", rank);
}

void cast_vote(FileSystem& fs, const std::filesystem::path& step_folder, const Vote& vote) {
  const Json json = {{"rank", vote.rank},
                     {"uuid", vote.uuid},
                     {"ok", vote.ok},
                     {"error", vote.error},
                     {"crc32c", vote.crc32c},
                     {"parts_crc32c", vote.parts_crc32c},
                     {"timing", json_of(std::vector{vote.timing})}};
  try {
    write_text_durably(fs, vote_path(step_folder, vote.rank), json.dump() + "\n",
                       [&] { crash_point("vote_unnamed", vote.rank); });
  } catch (const IoError&) {
    if (vote.ok) {
      throw;
    }
    const File mute(fs, mute_vote_path(step_folder, vote.rank), O_WRONLY | O_CREAT);
  }
}

std::optional<Vote> find_vote(const std::filesystem::path& step_folder, int rank,
                              const std::string& uuid) {
  if (is_there(mute_vote_path(step_folder, rank))) {
    return Vote{rank, uuid, false, "could not write at all", {}, {}, {}};
  }
  const std::filesystem::path path = vote_path(step_folder, rank);
  if (!is_there(path)) {
    return std::nullopt;
  }
  try {
    Vote vote = vote_of(parse_json<Json>(read_text(path), path.string()));
    return vote.uuid == uuid ? std::optional(std::move(vote)) : std::nullopt;
  } catch (const ConfigError&) {
    return std::nullopt;
  } catch (const Json::exception&) {
    throw DamagedError(fmt::format("'{}' is no vote: cut off or damaged", path.string()));
  }
}

}  // namespace sherd::io
