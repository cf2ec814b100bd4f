#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sherd/comm/mesh_comms.hpp"
#include "sherd/dtensor/state_dict.hpp"
#include "sherd/io/load_options.hpp"
#include "sherd/io/save_ticket.hpp"

namespace sherd::io {

class FileSystem;

/// What a save does that is asked for while an earlier one is in flight.
enum class Overlap : std::uint8_t { wait, skip, fail };

/// Which ranks share a shard file.
enum class Layout : std::uint8_t {
  per_node,    ///< one file a node
  per_rank,    ///< one file a rank: node-local disks, network file systems that lock whole files
  single_file  ///< index.h5 holds everything: small jobs, handing over
};

/// How bytes get into the files; they are the same whichever it is.
enum class WriteBackend : std::uint8_t {
  automatic,  ///< io_uring where the kernel lets us, else pwrite
  io_uring,   ///< as above, ConfigError where it does not
  pwrite,     ///< by threads
  mpio        ///< collective H5Dwrite through MPI-IO, before save_async() returns
};

constexpr std::uint64_t kDefaultStagingBytes = std::uint64_t{16} << 30;

struct CheckpointerOptions {
  std::filesystem::path directory = "checkpoints";
  int keep_last = 3;  ///< committed checkpoints kept; 0 keeps all; 1 is refused (ConfigError)
  Overlap overlap = Overlap::wait;
  double commit_timeout_seconds = 1800;  ///< how long a rank's background waits for the others
  std::int64_t keep_every = 0;  ///< steps divisible by it are kept beside the last; 0: none
  /// A committed step saved again replaces what is there when the save begins; else IoError. What
  /// appears in its place meanwhile stays, either way.
  bool overwrite = false;
  /// Reads everything back before the commit: for disks that cannot be trusted.
  bool verify_after_save = false;
  Layout layout = Layout::per_node;
  WriteBackend backend = WriteBackend::automatic;
  /// Memory that all ranks of a node together may copy a state to. A larger one is saved in waves:
  /// copying waits for the disk. Taken by prepare() or the first save, as needed, and kept.
  std::uint64_t staging_bytes_per_node = kDefaultStagingBytes;
};

struct CheckpointInfo {
  std::int64_t step = 0;
  std::filesystem::path path;  ///< the step-XXXXXXXX folder
  bool committed = false;
};

/// Saves and loads a StateDict in the layout of docs/checkpoint-format.md: one HDF5 file per node
/// with every rank's pieces, an index of virtual datasets of global shape, COMMITTED.json written
/// last.
class Checkpointer {
 public:
  /// Collective; `comms` must outlive the checkpointer. Creates the directory and becomes its only
  /// writer (FolderOwner); throws ConfigError on all ranks when it cannot be written to, another
  /// program is writing there, or a rank does not see what rank 0 has made.
  Checkpointer(comm::MeshComms& comms, CheckpointerOptions options);
  /// The same, writing through `file_system`: where tests make system calls fail.
  Checkpointer(comm::MeshComms& comms, CheckpointerOptions options,
               std::shared_ptr<FileSystem> file_system);
  ~Checkpointer();  ///< waits for the save in flight; logs its failure
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// Collective, optional; waits for a save in flight. Does ahead what the first save of a state of
  /// this structure would hold its caller for: the layout of the files at once, and staging memory,
  /// whose pages a background thread clears while the caller goes on. Nothing is written, values
  /// are not read. The texts in `state.common` must be about as long as they will be. Throws on all
  /// ranks what save_async() would: ArgumentError, IoError when there is no memory; the next save
  /// tries anew. Worth a call where training begins, after the last load.
  void prepare(const dtensor::StateDict& state);

  /// Collective. Returns once every byte of `state` is copied to staging memory (or, where that is
  /// smaller, written); the caller may change it at once. Writing, syncing and committing go on in
  /// the background, free of MPI and HDF5. While an earlier save is in flight: waits, returns an
  /// invalid ticket, or throws IoError on all ranks, as `overlap` says. Throws IoError with what an
  /// earlier save failed with when this or another rank has not seen it yet (each failure is
  /// delivered once); nothing is saved then. Throws ArgumentError on all ranks when the state is
  /// not what StateDict promises, IoError when the step is there already (unless `overwrite`).
  [[nodiscard]] SaveTicket save_async(std::int64_t step, const dtensor::StateDict& state);

  /// The same, but tensors are copied in the background, too, by ascending DTensor::stage_group.
  /// Their memory must stay, and keep its contents, until wait_staged() of the ticket says so.
  /// Copied before this returns: tensors with volatile_contents, per_rank and common entries.
  [[nodiscard]] SaveTicket save_lazily(std::int64_t step, const dtensor::StateDict& state);

  /// Local. Rethrows a background failure that nobody has seen yet.
  void poll();
  /// Local; the last save's ticket (invalid before the first).
  [[nodiscard]] SaveTicket last() const;

  /// Collective. The newest checkpoint that is committed (a fully voted one is committed first) and
  /// whose digests hold: of the line that was saved last, not the highest step of one that was
  /// given up. Bad ones are set aside, once two ranks have found the damage, and named in the
  /// report. Fills `state` in place, whatever number of ranks, placements and blocks saved it.
  /// nullopt when there never was one. Throws ConfigError on all ranks when names, shapes or dtypes
  /// differ from `state` more than `options` allow ("a checkpoint of another model"; `state` is
  /// untouched), IoError when there are checkpoints but none is good, when one cannot be read at
  /// the moment or when the ranks see different ones; the values of `state` are undefined then.
  std::optional<LoadReport> load_latest(dtensor::StateDict& state, const LoadOptions& options = {});
  /// Collective. The same from one given step folder; throws IoError when it is damaged.
  LoadReport load(const std::filesystem::path& step_folder, dtensor::StateDict& state,
                  const LoadOptions& options = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sherd::io
