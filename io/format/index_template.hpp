#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/format/shard_files.hpp"
#include "io/format/shard_template.hpp"
#include "io/layout/state_layout.hpp"

namespace sherd::io {

/// Reserved bytes for each common text, so that a save does not change the file's structure.
using TextCapacities = std::map<std::string, std::size_t>;
/// Powers of two of at least 256 that hold each text and its NUL.
[[nodiscard]] TextCapacities capacities_for(const std::map<std::string, std::string>& texts);

/// A field below /meta that every save fills anew.
struct MetaField {
  std::string key;
  Extent extent;
};

/// index.h5: the global view; with Layout::single_file also every rank's data.
struct IndexTemplate {
  ShardTemplate content;
  MetaField step;                ///< int64
  MetaField timing;              ///< JSON: RankTiming of all ranks
  std::vector<MetaField> texts;  ///< StateDict::common
};

/// Lets HDF5 build it, in memory. Throws IoError.
[[nodiscard]] IndexTemplate build_index_template(const StateLayout& layout, const ShardFiles& files,
                                                 const TextCapacities& capacities);

}  // namespace sherd::io
