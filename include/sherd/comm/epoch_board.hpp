#pragma once

#include <cstddef>
#include <cstdint>

namespace sherd::comm {

/// Counters by which ranks of one node tell each other how far they are: counter (slot, rank) is
/// written by that rank alone and only grows. post() releases everything the rank wrote before it;
/// a wait that returns acquires it. Waits spin briefly, then sleep (futex), so that more ranks than
/// cores do not crawl. Local calls; the board itself is made collectively.
class EpochBoard {
 public:
  virtual ~EpochBoard() = default;
  EpochBoard(const EpochBoard&) = delete;
  EpochBoard& operator=(const EpochBoard&) = delete;

  /// Publishes that this rank has reached `epoch` in `slot`.
  virtual void post(std::size_t slot, std::uint64_t epoch) noexcept = 0;
  /// What `rank` has published in `slot` so far (acquire).
  [[nodiscard]] virtual std::uint64_t read(std::size_t slot, int rank) const noexcept = 0;
  /// Blocks until every rank has published at least `epoch` in `slot`. Throws CommError naming the
  /// ranks that are missing and `what` when the timeout (SHERD_COMM_TIMEOUT seconds, default 600)
  /// passes.
  virtual void wait_all(std::size_t slot, std::uint64_t epoch, const char* what) const = 0;
  /// The same without blocking: whether all ranks are there.
  [[nodiscard]] virtual bool test_all(std::size_t slot, std::uint64_t epoch) const noexcept = 0;

 protected:
  EpochBoard() = default;
};

}  // namespace sherd::comm
