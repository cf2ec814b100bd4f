#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/inproc/inproc_team.hpp"
#include "comm/shared/shared_communicator.hpp"
#include "sherd/base/check.hpp"
#include "sherd/comm/backends.hpp"

namespace sherd::comm {
namespace {

/// Keeps the first exception of several threads.
class FirstFailure {
 public:
  void keep(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (first_ == nullptr) {
      first_ = std::move(failure);
    }
  }
  void rethrow() const {
    if (first_ != nullptr) {
      std::rethrow_exception(first_);
    }
  }

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

void run_rank(const std::shared_ptr<InprocGroup>& group, int rank,
              const std::function<void(Communicator&)>& body, FirstFailure& failure) {
  const auto team = std::make_shared<InprocTeam>(group, rank);
  try {
    SharedCommunicator communicator(team);
    try {
      body(communicator);
    } catch (...) {  // kept before the communicator's end lets the others fail because of it
      failure.keep(std::current_exception());
      throw;
    }
  } catch (...) {
    failure.keep(std::current_exception());
    give_up(*team);
  }
}

}  // namespace

void run_inproc(int ranks, const std::function<void(Communicator&)>& body) {
  expect(ranks > 0, "run_inproc needs at least one rank");
  const auto group =
      std::make_shared<InprocGroup>(ranks, std::make_shared<std::atomic<std::uint32_t>>(0));
  FirstFailure failure;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] { run_rank(group, rank, body, failure); });
    }
  }
  failure.rethrow();
}

}  // namespace sherd::comm
