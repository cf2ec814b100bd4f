#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sherd/comm/communicator.hpp"
#include "sherd/comm/wait_observer.hpp"

namespace sherd::comm {

class IssueRecords;

/// What this rank has issued so far, kept so that ranks that have gone different ways find out
/// instead of waiting for each other: a count, a hash over all of it, and the last 256 entries,
/// which the other ranks can read. Made collectively by make_issue_log(); everything after is
/// local.
///
/// As the WaitObserver of the thread that issues (ScopedWaitObserver), it looks at the other ranks
/// whenever a wait lasts longer than a second. Ranks that are only slow are left alone.
class IssueLog final : public WaitObserver {
 public:
  IssueLog(std::vector<std::string> labels, std::vector<int> numbers,
           std::unique_ptr<IssueRecords> records);
  ~IssueLog() override;

  /// This rank issues operation `label`, an index into the labels. Tens of nanoseconds.
  void add(std::size_t label) noexcept;
  /// Hash of all labels added since the beginning or the last reset(), and how many they are.
  [[nodiscard]] std::uint64_t hash() const noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept;
  /// Forgets everything, for ranks that go on together after an error: all of them call it once,
  /// when all have heard of the error.
  void reset() noexcept;

  /// Shows this rank's entries to the others and looks at theirs. Throws CommError, saying who
  /// issued what, when two ranks are proven to have gone different ways; never because a rank is
  /// behind. Does not wait for other ranks.
  void check();
  void waited(std::chrono::milliseconds time) override;
  /// "The ranks last issued: ranks 0, 2 all_gather(a) as number 17; rank 1: no answer."
  [[nodiscard]] std::string describe() override;

 private:
  std::vector<std::string> labels_;
  std::vector<int> numbers_;
  std::unique_ptr<IssueRecords> records_;
};

/// A log over the ranks of `comm`, which must outlive it. Collective, blocking; destruction is
/// collective where that of a SharedRegion is. `labels` names everything that will be issued, the
/// same on all ranks; throws ConfigError on all ranks when it is not. On `inproc`, `shm` and `self`
/// the ranks read each other's memory; on `mpi` they send messages once a wait is long; on other
/// backends a rank sees itself alone. `numbers`: what messages call each rank of `comm`; empty: its
/// rank.
[[nodiscard]] std::unique_ptr<IssueLog> make_issue_log(Communicator& comm,
                                                       std::vector<std::string> labels,
                                                       std::vector<int> numbers = {});

}  // namespace sherd::comm
