#pragma once

#include <functional>
#include <memory>
#include <string>

#include "comm/device/device_operations.hpp"
#include "comm/nccl/nccl_connection.hpp"
#include "sherd/comm/communicator.hpp"

namespace sherd::comm::nccl {

/// NCCL's collectives on memory of one device.
class NcclCommunicator final : public Communicator, public DeviceBased {
 public:
  /// Over the ranks of `bootstrap`. Collective, blocking; throws on all ranks or on none.
  NcclCommunicator(Library& library, std::shared_ptr<Communicator> bootstrap,
                   std::shared_ptr<runtime::Device> device);

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
  [[nodiscard]] DeviceOperations& operations() noexcept override { return *operations_; }

 private:
  using Call = std::function<Result(Library::Comm*, void* stream)>;
  [[nodiscard]] Work issue(const std::string& what, const Call& call);

  Library& library_;
  std::shared_ptr<Communicator> bootstrap_;  // ids travel on it
  int rank_;
  int size_;
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<DeviceOperations> operations_;
};

}  // namespace sherd::comm::nccl
