#pragma once

#include <mpi.h>

#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "sherd/comm/work.hpp"

namespace sherd::comm::mpi {

/// An operation of several stages. Each stage does local work and starts requests; the next one
/// runs once they are complete. Stages own (by capture) the staging memory their requests use.
class MpiWork final : public WorkState {
 public:
  using Requests = std::vector<MPI_Request>;
  using Stage = std::function<void(Requests&)>;

  /// Runs the first stage at once. `what` names the operation for messages.
  MpiWork(std::string what, std::vector<Stage> stages);
  ~MpiWork() override;

  bool test() override;
  void wait() override;

 private:
  void run_stage();

  std::string what_;
  std::chrono::milliseconds timeout_;
  std::vector<Stage> stages_;
  std::size_t next_ = 0;
  Requests requests_;
};

}  // namespace sherd::comm::mpi
