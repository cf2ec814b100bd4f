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
  /// What each rank holds of a tensor cut in blocks; empty for flat ranges. `held` and `stored` are
  /// {0, elements of the block} then, `stored` on one of the ranks that hold the block.
  std::vector<dtensor::Block> blocks;
  int stage_group = 0;
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

/// Datasets are numbered as the layout lists them: tensors first, then blobs.
[[nodiscard]] std::size_t item_count(const StateLayout& layout) noexcept;
/// Bytes of an item that `rank` writes; zero means that there is no dataset.
[[nodiscard]] std::uint64_t item_bytes(const StateLayout& layout, int rank, std::size_t item);
/// The numbers in the order in which they are copied and lie in a file: by stage group.
[[nodiscard]] std::vector<std::size_t> file_order(const StateLayout& layout);

/// What this rank's state looks like apart from values and common text, as one string: equal
/// strings mean that an earlier layout can be used again.
[[nodiscard]] std::string structure_signature(const dtensor::StateDict& state);

/// The part of it that must be equal on all ranks.
[[nodiscard]] std::string shared_signature(const dtensor::StateDict& state);

/// Local checks: tensors match their specs, names can be stored. Throws ArgumentError.
void check_state(const dtensor::StateDict& state);

/// Collective over `world` (whose ranks are pieces of `mesh`). All ranks must have equal shared
/// signatures. Throws ArgumentError on all ranks when the ranges of a sharded tensor do not
/// partition it or those of a hybrid one do not equally many times; likewise for blocks.
[[nodiscard]] StateLayout gather_layout(comm::Communicator& world, const mesh::DeviceMesh& mesh,
                                        const dtensor::StateDict& state);

}  // namespace sherd::io
