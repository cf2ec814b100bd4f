#pragma once

#include <memory>

#include "sherd/comm/communicator.hpp"
#include "sherd/runtime/device.hpp"

namespace sherd::comm {

/// One rank, on memory of a device: its collectives are copies on the compute stream.
class DeviceSelf final : public Communicator {
 public:
  explicit DeviceSelf(std::shared_ptr<runtime::Device> device);

  [[nodiscard]] int rank() const noexcept override { return 0; }
  [[nodiscard]] int size() const noexcept override { return 1; }
  [[nodiscard]] std::string_view backend() const noexcept override { return "self"; }

  Work all_gather(const void* shard, void* full, std::size_t count, DType dtype) override;
  Work reduce_scatter(const void* full, void* shard, std::size_t count, DType dtype,
                      ReduceOp op) override;
  Work all_reduce(const void* in, void* out, std::size_t count, DType dtype, ReduceOp op) override;
  Work broadcast(void* data, std::size_t count, DType dtype, int root) override;
  void barrier() override;
  [[nodiscard]] std::unique_ptr<SharedRegion> allocate_shared(std::size_t) override {
    return nullptr;
  }
  [[nodiscard]] std::unique_ptr<EpochBoard> make_epoch_board(std::size_t) override {
    return nullptr;
  }
  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override;

 private:
  Work copy(const void* from, void* to, std::size_t count, DType dtype);

  std::shared_ptr<runtime::Device> device_;
};

}  // namespace sherd::comm
