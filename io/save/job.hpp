#pragma once

#include <chrono>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "io/commit/retention.hpp"
#include "io/commit/vote.hpp"
#include "io/disk/file_system.hpp"
#include "io/save/gate.hpp"
#include "io/save/mpio_writer.hpp"
#include "io/save/plan.hpp"
#include "io/save/ring.hpp"
#include "io/save/stager.hpp"
#include "io/save/ticket.hpp"

namespace sherd::io {

/// One rank's part of one save: copying, digests, writing, syncing, voting and, on rank 0,
/// committing. Runs on a background thread; calls neither MPI nor HDF5.
class SaveJob {
 public:
  struct Settings {
    std::filesystem::path directory;
    std::filesystem::path folder;  ///< in flight
    std::string uuid;
    int rank = 0;
    Retention retention;
    std::chrono::duration<double> timeout{};
    WriteBackend backend = WriteBackend::pwrite;
    bool verify = false;
    std::map<std::string, std::string> texts = {};  ///< rank 0: StateDict::common
    Lineage lineage = {};                           ///< rank 0
  };

  /// `ring` is used by nobody else until the ticket is final.
  SaveJob(Settings settings, std::shared_ptr<const SavePlan> plan, StageSources sources,
          StagingRing& ring, std::shared_ptr<FileSystem> fs,
          std::shared_ptr<SaveTicket::Impl> ticket);

  /// Makes the files this rank is the first of; run() does it when nobody has before.
  void make_files();
  /// Collective: moves the data instead of run(), from the caller's memory. Throws IoError on all
  /// ranks.
  void write_collectively(const MpioWriter& writer);

  /// Leaves the ticket committed or failed; never throws.
  void run() noexcept;

 private:
  void write_part();
  void make_index();
  void move_data(ShardGate& gate);
  void fill_vote();
  void commit_or_follow();
  void report(std::exception_ptr error) noexcept;
  void crash(const char* place) const;

  Settings settings_;
  std::shared_ptr<const SavePlan> plan_;
  StagingRing& ring_;
  std::shared_ptr<FileSystem> fs_;
  std::shared_ptr<SaveTicket::Impl> ticket_;
  Stager stager_;
  Manifest manifest_;  // rank 0
  Vote vote_;
  bool files_made_ = false;
  bool data_written_ = false;
  bool voted_ = false;
};

}  // namespace sherd::io
