#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "io/commit/lease.hpp"
#include "io/format/lineage.hpp"
#include "io/save/job.hpp"
#include "io/save/mpio_writer.hpp"
#include "io/save/plan.hpp"
#include "io/save/ring.hpp"
#include "io/save/ticket.hpp"
#include "sherd/comm/agree.hpp"
#include "sherd/io/checkpointer.hpp"

namespace sherd::io {

/// The saving half of a Checkpointer: one save in flight, its thread, its staging memory.
class Saver {
 public:
  Saver(const comm::Ranks& ranks, const CheckpointerOptions& options,
        std::shared_ptr<FileSystem> fs);
  ~Saver();
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  void prepare(const dtensor::StateDict& state);
  /// Returns while tensors are still being copied.
  [[nodiscard]] SaveTicket save(std::int64_t step, const dtensor::StateDict& state);
  void poll();
  [[nodiscard]] SaveTicket last() const { return SaveTicket(last_); }
  /// Local, rank 0: saves from now on continue that checkpoint; what its run saved later is not of
  /// their line.
  void go_on_from(const Lineage& lineage, std::int64_t step, const std::string& uuid);
  /// Local, rank 0: whose turn the folder is. Must be called before save().
  void own(std::shared_ptr<Lease> lease) { lease_ = std::move(lease); }
  /// Local; returns once no save is in flight on this rank.
  void finish();

 private:
  struct Consensus;
  Consensus consult(std::int64_t step, const dtensor::StateDict& state);
  void deliver_earlier_failure();
  void renew_plan(const dtensor::StateDict& state);
  [[nodiscard]] std::uint64_t staging_share() const;
  SaveJob::Settings begin(std::int64_t step);
  Lineage next_on_line(std::int64_t step);
  void clean_leftovers();
  void launch(SaveJob::Settings settings, const dtensor::StateDict& state);
  void write_now(SaveJob& job);

  const comm::Ranks& ranks_;
  const CheckpointerOptions& options_;
  std::shared_ptr<FileSystem> fs_;
  std::string signature_;  ///< of the state the plan was made for
  std::shared_ptr<const SavePlan> plan_;
  StagingRing staging_;
  WriteBackend backend_;
  std::optional<MpioWriter> mpio_;
  std::shared_ptr<SaveTicket::Impl> last_;
  std::shared_ptr<Lease> lease_;  ///< rank 0
  Lineage line_;
  std::string last_uuid_;  ///< of the last save that was begun
  bool leftovers_ = true;  ///< folders may lie about that no save owns
  std::thread worker_;
};

}  // namespace sherd::io
