#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "io/agreement.hpp"
#include "io/index_template.hpp"
#include "io/manifest.hpp"
#include "io/node_template.hpp"
#include "io/staging.hpp"
#include "io/state_layout.hpp"

namespace sherd::io {

/// Everything about a save that its structure decides: made once, used by every save of it.
struct SavePlan {
  StateLayout layout;
  std::string file_name;  ///< of this rank's node
  StagingPlan staging;
  FileTemplate node_file;  ///< on the node's lowest rank; elsewhere empty
  bool leads_node = false;
  IndexTemplate index;  ///< rank 0
  Manifest manifest;    ///< rank 0: step, uuid and digests are filled in by each save
};

/// Collective. The only place that calls HDF5; scratch files lie in `directory` for a moment.
/// Throws on all ranks: ArgumentError (ranges), IoError.
[[nodiscard]] std::shared_ptr<const SavePlan> make_save_plan(const Ranks& ranks,
                                                             const std::filesystem::path& directory,
                                                             const dtensor::StateDict& state);

}  // namespace sherd::io
