#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

/// Which run saved a checkpoint, and what that run went on from: names can be copied, and a higher
/// step may belong to a line that was given up.
namespace sherd::io {

/// What an earlier run saved up to a step belongs to the line; what it saved later does not.
struct PastRun {
  std::string run;
  std::int64_t until = 0;
};

struct Lineage {
  std::string run = {};       ///< empty: saved before manifests knew of runs
  std::string parent = {};    ///< uuid of the checkpoint it continues; empty for the first
  std::int64_t sequence = 0;  ///< number of the save in its folder: the newest has the highest
  /// uuid of the checkpoint of this step that was there when the save began, and that its user has
  /// said to overwrite.
  std::string replaces = {};
  std::vector<PastRun> past = {};  ///< the oldest first
};

/// Whether the checkpoint of `step` by `run` is the one of `head_step`, or one that it came from.
[[nodiscard]] bool is_on_line(const Lineage& head, std::int64_t head_step, const std::string& run,
                              std::int64_t step);

/// Of a run that goes on from a checkpoint with `lineage`.
[[nodiscard]] std::vector<PastRun> past_after(const Lineage& lineage, std::int64_t step);

void write_lineage(const Lineage& lineage, nlohmann::json& json);
/// All members are optional: manifests of version 1 may lack them.
[[nodiscard]] Lineage read_lineage(const nlohmann::json& json);

}  // namespace sherd::io
