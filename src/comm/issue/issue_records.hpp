#pragma once

#include <memory>

#include "comm/issue/divergence.hpp"
#include "comm/mpi/mpi_handles.hpp"
#include "sherd/comm/communicator.hpp"

namespace sherd::comm {

/// The records of a group of ranks, as one of them sees them. Local calls.
class IssueRecords {
 public:
  virtual ~IssueRecords() = default;
  IssueRecords(const IssueRecords&) = delete;
  IssueRecords& operator=(const IssueRecords&) = delete;

  /// This rank's.
  [[nodiscard]] virtual IssueRecord& own() noexcept = 0;
  /// Shows this rank's record to the others and says what is known of them.
  [[nodiscard]] virtual IssueHistories exchange() = 0;
  /// This rank leaves with an error: sees to it that the others can still get its record.
  virtual void leave() noexcept = 0;

 protected:
  IssueRecords() = default;
};

/// In a block of memory that all ranks map. Null on backends that have none.
[[nodiscard]] std::unique_ptr<IssueRecords> make_shared_records(Communicator& comm);
/// Over messages on `comm`, which is taken over.
[[nodiscard]] std::unique_ptr<IssueRecords> make_message_records(mpi::CommHandle comm);
/// Rank `rank` of `size`, which never hears of the others.
[[nodiscard]] std::unique_ptr<IssueRecords> make_lone_records(int rank, int size);

}  // namespace sherd::comm
