#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sherd/comm/mesh_comms.hpp"
#include "sherd/dtensor/state_dict.hpp"

namespace sherd::io {

class FileSystem;

enum class WhenBusy : std::uint8_t { wait, skip, fail };

struct CheckpointerOptions {
  std::filesystem::path directory = "checkpoints";
  int keep_last = 3;  ///< committed checkpoints kept; 0 keeps all; 1 is refused (ConfigError)
  WhenBusy when_busy = WhenBusy::wait;   ///< a save asked for while one is in flight
  double commit_timeout_seconds = 1800;  ///< how long a rank's background waits for the others
  std::int64_t keep_every = 0;  ///< steps divisible by it are kept beside the last; 0: none
  bool overwrite = false;       ///< a committed step saved again is replaced; else IoError
};

/// How far a save has come. The four events happen in this order.
enum class SavePhase : std::uint8_t { staging, staged, written, durable, committed, failed };

/// One save in flight. Copyable handle; local calls.
class SaveTicket {
 public:
  SaveTicket() = default;
  [[nodiscard]] bool valid() const noexcept { return impl_ != nullptr; }
  [[nodiscard]] std::int64_t step() const;
  [[nodiscard]] SavePhase phase() const;
  /// Blocks until committed; rethrows what failed on this rank, or IoError naming the rank that
  /// did.
  void wait() const;
  /// Seconds the caller was held by this save (staging copy and back-pressure).
  [[nodiscard]] double stall_seconds() const;

  struct Impl;
  explicit SaveTicket(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

struct CheckpointInfo {
  std::int64_t step = 0;
  std::filesystem::path path;  ///< the step-XXXXXXXX folder
  bool committed = false;
};

/// What load() found different; empty when all matched.
struct LoadReport {
  std::int64_t step = 0;
  std::filesystem::path path;
  std::vector<std::string> notes;  ///< checkpoints passed over and why, entries ignored
};

/// Saves and loads a StateDict in the layout of docs/checkpoint-format.md: one HDF5 file per node
/// with every rank's pieces, an index of virtual datasets of global shape, COMMITTED.json written
/// last.
class Checkpointer {
 public:
  /// Collective; `comms` must outlive the checkpointer. Creates the directory; throws ConfigError
  /// on all ranks when it cannot be written to.
  Checkpointer(comm::MeshComms& comms, CheckpointerOptions options);
  /// The same, writing through `file_system`: where tests make system calls fail.
  Checkpointer(comm::MeshComms& comms, CheckpointerOptions options,
               std::shared_ptr<FileSystem> file_system);
  ~Checkpointer();  ///< waits for the save in flight; logs its failure
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// Collective. Returns once every byte of `state` is copied to staging memory; the caller may
  /// change it at once. Writing, syncing and committing go on in the background, free of MPI and
  /// HDF5. While an earlier save is in flight: waits, returns an invalid ticket, or throws IoError
  /// on all ranks, as when_busy says. Throws IoError with what an earlier save failed with when
  /// this or another rank has not seen it yet (each failure is delivered once); nothing is saved
  /// then. Throws ArgumentError on all ranks when the state is not what StateDict promises.
  [[nodiscard]] SaveTicket save_async(std::int64_t step, const dtensor::StateDict& state);

  /// Local. Rethrows a background failure that nobody has seen yet.
  void poll();
  /// Local; the last save's ticket (invalid before the first).
  [[nodiscard]] SaveTicket last() const;

  /// Collective. The newest checkpoint that is committed (a fully voted one is committed first) and
  /// whose digests hold; bad ones are set aside and named in the report. Fills `state` in place
  /// (tensors by flat range, any number of saving ranks and placements; `common` and, when the
  /// number of ranks is the same, `per_rank`). nullopt when there is none. Throws ConfigError on
  /// all ranks when names, shapes or dtypes differ from `state` ("a checkpoint of another model"),
  /// IoError when there are checkpoints but all are damaged. `state` is changed only by a
  /// checkpoint that is good.
  std::optional<LoadReport> load_latest(dtensor::StateDict& state);
  /// Collective. The same from one given step folder; throws IoError when it is damaged.
  LoadReport load(const std::filesystem::path& step_folder, dtensor::StateDict& state);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sherd::io
