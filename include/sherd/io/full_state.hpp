#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "sherd/comm/mesh_comms.hpp"
#include "sherd/dtensor/state_dict.hpp"
#include "sherd/io/load_options.hpp"

/// A state outside of checkpoints: for handing a model over, or for one rank's private use.
namespace sherd::io {

/// PyTorch's names of the forms a state is kept in.
enum class StateDictType : std::uint8_t {
  full_state_dict,     ///< whole tensors in one file
  sharded_state_dict,  ///< a checkpoint: parts, loaded by any number of ranks (Checkpointer)
  local_state_dict     ///< each rank's own part, loaded only by the same rank of as many
};
/// "FULL_STATE_DICT" ...
[[nodiscard]] std::string_view to_string(StateDictType type) noexcept;
/// The inverse; throws ConfigError listing the names.
[[nodiscard]] StateDictType parse_state_dict_type(std::string_view name);

enum class FullFormat : std::uint8_t {
  safetensors,  ///< tensors under their keys, texts as __metadata__
  hdf5          ///< contiguous datasets of global shape, texts below /meta; aliases are links
};

struct FullStateOptions {
  FullFormat format = FullFormat::safetensors;
  /// Writes only tensors whose key this returns true for, on all ranks alike. Empty: all.
  std::function<bool(const std::string& key)> select = {};
};

/// Writes whole tensors and common texts into one `file`, which every rank reaches under this name.
/// Each rank writes the elements it holds at their place: nothing is gathered, no rank holds more
/// than its own part. A temporary name is used until all ranks have synced; then `file` is replaced
/// at once. per_rank entries are left out. Collective, blocking. Throws on all ranks: ArgumentError
/// for a state that is not what StateDict promises, ConfigError when the ranks differ in state or
/// file, IoError when any of them cannot write (`file` is as it was then).
void save_full_state(comm::MeshComms& comms, const dtensor::StateDict& state,
                     const std::filesystem::path& file, const FullStateOptions& options = {});

/// Fills `state` from a file of save_full_state() or `sherd ckpt consolidate`, on any number of
/// ranks with any placements; each rank reads only what it holds. The format is recognised. Of
/// `options`, strict, allow_cast and select count; texts of the file replace those of the state.
/// Collective, blocking. Throws ConfigError on all ranks when the file is not such a file, or
/// names, shapes or dtypes differ more than allowed (`state` is untouched); IoError when it cannot
/// be read (values are undefined then).
LoadReport load_full_state(comm::MeshComms& comms, const std::filesystem::path& file,
                           dtensor::StateDict& state, const LoadOptions& options = {});

/// Writes each rank's part, per_rank entries and texts to a file of its own in `folder` (made if
/// need be; a node-local disk will do): rank-00003.safetensors. Replaces each file at once.
/// Collective, blocking. Throws IoError on all ranks when any of them cannot write.
void save_local_state(comm::MeshComms& comms, const dtensor::StateDict& state,
                      const std::filesystem::path& folder);

/// The inverse. Throws ConfigError on all ranks when the number of ranks, a name, shape, dtype or
/// held range is another one than saved, or when files of several saves lie in the folder; `state`
/// is untouched then.
void load_local_state(comm::MeshComms& comms, const std::filesystem::path& folder,
                      dtensor::StateDict& state);

/// One call for the three forms: `path` is a file (full; named *.h5 for HDF5), a directory of
/// checkpoints of which this is the only one (sharded), or a folder (local). Collective, blocking.
/// Throws what the form's own call does.
void save_state(comm::MeshComms& comms, const dtensor::StateDict& state,
                const std::filesystem::path& path, StateDictType type);
void load_state(comm::MeshComms& comms, const std::filesystem::path& path,
                dtensor::StateDict& state, StateDictType type);

}  // namespace sherd::io
