#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "io/format/lineage.hpp"

/// Which checkpoints of a directory a load tries, and in which order. A folder is what its manifest
/// says, not what it is called.
namespace sherd::io {

/// A step folder that holds a COMMITTED.json.
struct Committed {
  std::int64_t step = 0;  ///< by its name
  std::filesystem::path path;
  std::string damage = {};       ///< why the manifest cannot be used; then nothing below is set
  std::int64_t stored_step = 0;  ///< by its manifest
  std::string uuid = {};
  Lineage lineage = {};

  [[nodiscard]] bool is_copy() const { return damage.empty() && stored_step != step; }
};

/// By step. Throws IoError when the directory or one of its step folders cannot be looked at: an
/// older checkpoint must not be taken for the newest because the newest cannot be seen right now.
[[nodiscard]] std::vector<Committed> read_committed(const std::filesystem::path& directory);

/// Names of the folders that read_committed() would return, one a line; no manifest is read.
[[nodiscard]] std::string committed_names(const std::filesystem::path& directory);

/// Whether a run that saved later went on from an earlier step of the same run.
[[nodiscard]] bool is_given_up(const Committed& folder, const std::vector<Committed>& all);

/// What a load of the newest checkpoint tries.
struct Candidates {
  std::vector<Committed> tried;    ///< the highest step first
  std::vector<std::string> notes;  ///< one line for each folder that is passed over
};

/// The line of the checkpoint that was saved last, earlier steps of other runs, and damaged ones,
/// whose line nobody knows. Passed over: copies under another name, steps that were given up when a
/// run went on from an earlier one, and higher steps that another run had saved before.
[[nodiscard]] Candidates choose_candidates(const std::vector<Committed>& found);

/// What is left of checkpoints where none is committed: folders set aside, step folders without a
/// manifest. One name each.
[[nodiscard]] std::vector<std::string> remains_of_checkpoints(
    const std::filesystem::path& directory);

}  // namespace sherd::io
