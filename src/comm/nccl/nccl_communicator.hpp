#pragma once

#include <string>

#include "comm/nccl/nccl_api.hpp"
#include "sherd/comm/communicator.hpp"

namespace sherd::comm::nccl {

/// The collectives on device memory. They run in issue order on a stream of the communicator's own;
/// use one communicator for gathers and a duplicate for reductions to have both under way at once.
class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(const ncclUniqueId& id, int rank, int size);

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return size_; }
  [[nodiscard]] std::string_view backend() const noexcept override { return "nccl"; }

  Work all_gather(const void* shard, void* full, std::size_t count, DType dtype) override;
  Work reduce_scatter(const void* full, void* shard, std::size_t count, DType dtype,
                      ReduceOp op) override;
  Work all_reduce(const void* in, void* out, std::size_t count, DType dtype, ReduceOp op) override;
  Work broadcast(void* data, std::size_t count, DType dtype, int root) override;
  void barrier() override;
  /// Null: no memory that other ranks' kernels could use.
  [[nodiscard]] std::unique_ptr<SharedRegion> allocate_shared(std::size_t bytes) override;
  [[nodiscard]] std::unique_ptr<EpochBoard> make_epoch_board(std::size_t slots) override;
  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override;

 private:
  [[nodiscard]] Work issued(std::string what) const;

  int rank_;
  int size_;
  StreamHandle stream_;
  DeviceMemory scratch_;  // an id, or the word of a barrier
  CommHandle comm_;
};

}  // namespace sherd::comm::nccl
