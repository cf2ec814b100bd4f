#include "comm/shared/peers.hpp"

#include <fmt/format.h>

#include <utility>

#include "comm/wait_watch.hpp"
#include "sherd/base/error.hpp"

namespace sherd::comm {

Peers::Peers(std::shared_ptr<SharedTeam> team)
    : team_(std::move(team)),
      rank_(team_->rank()),
      size_(team_->size()),
      patience_(make_patience(size_, team_->failed())) {}

void Peers::fail(Waited why, const std::string& missing, const std::string& what) const {
  if (why == Waited::rank_failed) {
    ask_observer();  // it may have failed because ranks went different ways: then all say that
    throw CommError(fmt::format("rank {} has failed while rank {} was in {}",
                                team_->failed().load() - 1, rank_, what));
  }
  const double seconds = std::chrono::duration<double>(patience_.timeout).count();
  throw CommError(
      fmt::format("rank {} waited {} s in {} for rank{} {} (of {}) in vain. Try: look for "
                  "the error on that rank, or a larger SHERD_COMM_TIMEOUT.{}",
                  rank_, seconds, what, missing.find(',') == std::string::npos ? "" : "s", missing,
                  size_, what_others_do()));
}

}  // namespace sherd::comm
