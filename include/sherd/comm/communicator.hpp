#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "sherd/base/dtype.hpp"
#include "sherd/comm/collective.hpp"
#include "sherd/comm/epoch_board.hpp"
#include "sherd/comm/shared_region.hpp"
#include "sherd/comm/work.hpp"

namespace sherd::comm {

class DeviceOperations;
class SharedTeam;
namespace mpi {
class MpiBased;
}

/// What the library itself asks of a backend; all null and false for a plain one.
struct Capabilities {
  bool blocking = false;               ///< operations are complete when they have been issued
  DeviceOperations* device = nullptr;  ///< what was issued on a device; null: works on host memory
  mpi::MpiBased* mpi = nullptr;        ///< makes MPI communicators of the same ranks
  SharedTeam* team = nullptr;          ///< whose ranks wait for each other in shared memory
};

/// A fixed set of ranks that work together, on one backend (`self`, `inproc`, `shm`, `mpi`,
/// `nccl`, `emulated`). The last two take memory of the device that was the thread's when they were
/// made, and order operations by streams as work.hpp says.
///
/// Every operation is collective: all ranks call it in the same order with the same count, dtype,
/// op and root. Counts are elements *per rank piece* for all_gather and reduce_scatter, whole
/// elements otherwise; zero is legal. Operations complete when the returned Work says so; buffers
/// belong to the caller and must outlive it. f16 and bf16 are summed in f32 and rounded once at the
/// end, where the backend is ours. Sums add the ranks' contributions in rank order on `self`,
/// `inproc` and `shm`, so results are the same bits on every rank and in every run. Errors:
/// CommError.
class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;
  [[nodiscard]] virtual std::string_view backend() const noexcept = 0;

  /// full[r*count .. ] = shard of rank r. In place when shard == full + rank*count elements.
  Work all_gather(const void* shard, void* full, std::size_t count, DType dtype) {
    return issue({CollectiveKind::all_gather, shard, full, count, dtype});
  }

  /// shard = op over ranks of full[rank*count ..]. In place when shard == full + rank*count
  /// elements; then the rest of `full` is unspecified afterwards.
  Work reduce_scatter(const void* full, void* shard, std::size_t count, DType dtype, ReduceOp op) {
    return issue({CollectiveKind::reduce_scatter, full, shard, count, dtype, op});
  }

  /// out = op over ranks of in. In place when in == out.
  Work all_reduce(const void* in, void* out, std::size_t count, DType dtype, ReduceOp op) {
    return issue({CollectiveKind::all_reduce, in, out, count, dtype, op});
  }

  Work broadcast(void* data, std::size_t count, DType dtype, int root) {
    return issue({CollectiveKind::broadcast, data, data, count, dtype, ReduceOp::sum, root});
  }

  /// Blocking.
  void barrier() { issue({.kind = CollectiveKind::barrier}).wait(); }

  /// Any of the above as a value: checks what all backends refuse (throws ArgumentError on every
  /// rank, before anything has been sent) and starts it. For decorators.
  Work issue(const Collective& collective);

  /// One zero-filled block of memory that every rank of this communicator maps, 4096-byte aligned
  /// (2 MiB where the size is worth it). Collective and blocking. Null on backends whose ranks do
  /// not share memory. Throws CommError naming the bytes needed when the node cannot hold it.
  [[nodiscard]] virtual std::unique_ptr<SharedRegion> allocate_shared(std::size_t bytes);

  /// A board of `slots` epoch counters per rank. Collective and blocking. Null on backends whose
  /// ranks do not share memory.
  [[nodiscard]] virtual std::unique_ptr<EpochBoard> make_epoch_board(std::size_t slots);

  /// The same ranks again, as a communicator of its own. Collective, blocking.
  [[nodiscard]] virtual std::unique_ptr<Communicator> duplicate() = 0;

  [[nodiscard]] virtual Capabilities capabilities() noexcept { return {}; }

 protected:
  Communicator() = default;

 private:
  /// The one thing that a backend does: begins the collective, which is checked. A barrier may
  /// block.
  virtual Work start(const Collective& collective) = 0;
};

}  // namespace sherd::comm
