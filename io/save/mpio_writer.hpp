#pragma once

#include <filesystem>

#include "io/format/shard_files.hpp"
#include "io/save/plan.hpp"
#include "io/save/stage_sources.hpp"
#include "sherd/comm/agree.hpp"
#include "sherd/comm/mpi_interop.hpp"

namespace sherd::io {

/// Writes all ranks' data of a save by collective H5Dwrite through MPI-IO, for file systems that
/// have no coherent POSIX calls; the same bytes at the same places as the other backends.
class MpioWriter {
 public:
  /// Collective; one communicator for each shard file's ranks. Throws ConfigError on all ranks when
  /// they do not talk over MPI.
  MpioWriter(const comm::Ranks& ranks, Layout layout);

  /// Collective, blocking; the file is there, with its structure. Throws IoError on all ranks.
  void write(const std::filesystem::path& file, const SavePlan& plan,
             const StageSources& sources) const;

 private:
  const comm::Ranks& ranks_;
  ShardFiles files_;
  comm::OwnedMpiComm comm_;
};

}  // namespace sherd::io
