#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "sherd/base/dtype.hpp"
#include "sherd/comm/epoch_board.hpp"
#include "sherd/comm/shared_region.hpp"
#include "sherd/comm/work.hpp"

namespace sherd::comm {

enum class ReduceOp : std::uint8_t { sum, max, min };

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
  virtual Work all_gather(const void* shard, void* full, std::size_t count, DType dtype) = 0;

  /// shard = op over ranks of full[rank*count ..]. In place when shard == full + rank*count
  /// elements; then the rest of `full` is unspecified afterwards.
  virtual Work reduce_scatter(const void* full, void* shard, std::size_t count, DType dtype,
                              ReduceOp op) = 0;

  /// out = op over ranks of in. In place when in == out.
  virtual Work all_reduce(const void* in, void* out, std::size_t count, DType dtype,
                          ReduceOp op) = 0;

  virtual Work broadcast(void* data, std::size_t count, DType dtype, int root) = 0;

  /// Blocking.
  virtual void barrier() = 0;

  /// One zero-filled block of memory that every rank of this communicator maps, 4096-byte aligned
  /// (2 MiB where the size is worth it). Collective and blocking. Null on backends whose ranks do
  /// not share memory. Throws CommError naming the bytes needed when the node cannot hold it.
  [[nodiscard]] virtual std::unique_ptr<SharedRegion> allocate_shared(std::size_t bytes) = 0;

  /// A board of `slots` epoch counters per rank. Collective and blocking. Null on backends whose
  /// ranks do not share memory.
  [[nodiscard]] virtual std::unique_ptr<EpochBoard> make_epoch_board(std::size_t slots) = 0;

  /// The same ranks again, as a communicator of its own. Collective, blocking.
  [[nodiscard]] virtual std::unique_ptr<Communicator> duplicate() = 0;

 protected:
  Communicator() = default;
};

}  // namespace sherd::comm
