#pragma once

#include <memory>
#include <string>

#include "io/format/index_template.hpp"
#include "io/format/manifest.hpp"
#include "io/format/shard_files.hpp"
#include "io/format/shard_template.hpp"
#include "io/layout/state_layout.hpp"
#include "io/save/chunks.hpp"
#include "sherd/comm/agree.hpp"

namespace sherd::io {

/// Everything about a save that its structure decides: made once, used by every save of it.
struct SavePlan {
  StateLayout layout;
  std::string file_name;  ///< that this rank writes to
  std::uint64_t file_bytes = 0;
  std::shared_ptr<const StagingPlan> staging;
  bool leads_file = false;
  FileTemplate shard_file;  ///< where leads_file is set, and the file is not index.h5
  IndexTemplate index;      ///< rank 0
  Manifest manifest;        ///< rank 0: step, uuid and digests are filled in by each save
};

struct PlanOptions {
  Layout layout = Layout::per_node;
  std::uint64_t chunk_bytes = 0;
};

/// Collective. The only place that calls HDF5. Throws on all ranks: ArgumentError (ranges),
/// IoError.
[[nodiscard]] std::shared_ptr<const SavePlan> make_save_plan(const comm::Ranks& ranks,
                                                             const PlanOptions& options,
                                                             const dtensor::StateDict& state);

}  // namespace sherd::io
