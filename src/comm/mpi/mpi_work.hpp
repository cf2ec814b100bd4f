#pragma once

#include <mpi.h>

#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "sherd/comm/work.hpp"

namespace sherd::comm::mpi {

/// An operation of several stages. Each stage does local work and starts requests. Stages run in
/// order; stage i runs once the requests of stage i - `lag` and of those before are complete: with
/// a lag of 1 one after the other, else so many are under way together. Stages own (by capture) the
/// staging memory their requests use.
class MpiWork final : public WorkState {
 public:
  using Requests = std::vector<MPI_Request>;
  using Stage = std::function<void(Requests&)>;

  /// Runs the first `lag` stages at once. `what` names the operation for messages.
  MpiWork(std::string what, std::vector<Stage> stages, std::size_t lag = 1);
  ~MpiWork() override;

  bool test() override;
  void wait() override;

 private:
  void run_stages();

  std::string what_;
  std::chrono::milliseconds timeout_;
  std::vector<Stage> stages_;
  std::size_t lag_;
  std::size_t next_ = 0;
  std::deque<Requests> underway_;  // by stage
};

}  // namespace sherd::comm::mpi
