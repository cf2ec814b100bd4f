#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sherd/comm/communicator.hpp"
#include "sherd/dtensor/flat_range.hpp"
#include "sherd/dtensor/state_dict.hpp"
#include "sherd/mesh/device_mesh.hpp"

namespace sherd::io {

/// One tensor over all ranks. Indexed by rank as the launch numbers them.
struct TensorLayout {
  std::string key;
  dtensor::ShardSpec facts;                ///< offset and numel are this rank's
  std::vector<dtensor::FlatRange> held;    ///< what each rank has in memory
  std::vector<dtensor::FlatRange> stored;  ///< what each rank writes: a partition of the tensor
  std::vector<int> replica;                ///< how many lower ranks hold the same range
};

struct BlobLayout {
  std::string key;
  std::vector<std::int64_t> bytes;  ///< by rank
};

/// The structure of a StateDict over all ranks: everything but the values.
struct StateLayout {
  int world_size = 1;
  std::vector<TensorLayout> tensors;  ///< in key order
  std::vector<BlobLayout> blobs;
};

/// What this rank's state looks like apart from values and common text, as one string: equal
/// strings mean that an earlier layout can be used again.
[[nodiscard]] std::string structure_signature(const dtensor::StateDict& state);

/// The part of it that must be equal on all ranks.
[[nodiscard]] std::string shared_signature(const dtensor::StateDict& state);

/// Local checks: tensors match their specs, names can be stored. Throws ArgumentError.
void check_state(const dtensor::StateDict& state);

/// Collective over `world` (whose ranks are pieces of `mesh`). All ranks must have equal shared
/// signatures. Throws ArgumentError on all ranks when the ranges of a sharded tensor do not
/// partition it, those of a hybrid one not equally many times.
[[nodiscard]] StateLayout gather_layout(comm::Communicator& world, const mesh::DeviceMesh& mesh,
                                        const dtensor::StateDict& state);

}  // namespace sherd::io
