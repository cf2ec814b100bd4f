#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "io/file_system.hpp"
#include "io/retention.hpp"
#include "io/save_plan.hpp"
#include "io/save_ticket.hpp"
#include "io/vote.hpp"

namespace sherd::io {

/// One rank's part of one save after staging: digests, writing, syncing, voting and, on rank 0,
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
  };

  /// `staging` holds what plan->staging says and stays untouched until the ticket is final.
  SaveJob(Settings settings, std::shared_ptr<const SavePlan> plan, const std::byte* staging,
          std::shared_ptr<FileSystem> fs, std::shared_ptr<SaveTicket::Impl> ticket);

  /// Rank 0: what makes this save different from the plan.
  void set_index(std::vector<std::byte> image, const std::map<std::string, std::string>& texts);

  /// Leaves the ticket committed or failed; never throws.
  void run() noexcept;

 private:
  void write_part();
  void write_structure(class ShardWriter& writer);
  void write_data(class ShardWriter& writer);
  void write_index();
  void compute_digests();
  void commit_or_follow();
  void report(std::exception_ptr error) noexcept;

  Settings settings_;
  std::shared_ptr<const SavePlan> plan_;
  const std::byte* staging_;
  std::shared_ptr<FileSystem> fs_;
  std::shared_ptr<SaveTicket::Impl> ticket_;
  std::vector<std::byte> index_;
  Manifest manifest_;  // rank 0
  Vote vote_;
  bool voted_ = false;
};

}  // namespace sherd::io
