#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <string>

#include "comm/mpi/mpi_communicator.hpp"
#include "comm/progress/progress_thread.hpp"

namespace sherd::comm {

/// The `mpi` backend driven by a thread: operations make progress while the caller computes, and
/// what they throw comes out of the Work. Needs MPI_THREAD_MULTIPLE.
class ThreadedCommunicator final : public Communicator, public mpi::MpiBased {
 public:
  ThreadedCommunicator(std::unique_ptr<mpi::MpiCommunicator> inner,
                       std::shared_ptr<ProgressThread> thread);
  /// Blocks until all operations are complete, or gives them up while an exception is on its way.
  ~ThreadedCommunicator() override;

  [[nodiscard]] int rank() const noexcept override { return inner_->rank(); }
  [[nodiscard]] int size() const noexcept override { return inner_->size(); }
  [[nodiscard]] std::string_view backend() const noexcept override { return inner_->backend(); }

  /// Waits for all operations of this communicator first.
  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override;
  [[nodiscard]] mpi::CommHandle duplicate_handle() override;
  [[nodiscard]] Capabilities capabilities() noexcept override { return {.mpi = this}; }

 private:
  Work start(const Collective& collective) override;
  void finish_all();

  std::unique_ptr<mpi::MpiCommunicator> inner_;
  std::shared_ptr<ProgressThread> thread_;
  std::chrono::milliseconds timeout_;
  std::deque<std::shared_ptr<Ticket>> issued_;  // from the oldest that was not done on
  int exceptions_;                              // in flight when this was made
};

}  // namespace sherd::comm
