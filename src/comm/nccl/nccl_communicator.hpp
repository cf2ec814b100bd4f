#pragma once

#include <functional>
#include <memory>
#include <string>

#include "comm/device/device_operations.hpp"
#include "comm/nccl/nccl_connection.hpp"
#include "sherd/comm/communicator.hpp"

namespace sherd::comm::nccl {

/// NCCL's collectives on memory of one device.
class NcclCommunicator final : public Communicator {
 public:
  /// Over the ranks of `bootstrap`. Collective, blocking; throws on all ranks or on none.
  NcclCommunicator(Library& library, std::shared_ptr<Communicator> bootstrap,
                   std::shared_ptr<runtime::Device> device);

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return size_; }
  [[nodiscard]] std::string_view backend() const noexcept override { return "nccl"; }

  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override;
  [[nodiscard]] Capabilities capabilities() noexcept override {
    return {.device = operations_.get()};
  }

 private:
  Work start(const Collective& collective) override;
  [[nodiscard]] Result call(const Collective& c, Library::Comm* comm, void* stream);
  void meet();

  Library& library_;
  std::shared_ptr<Communicator> bootstrap_;  // ids travel on it
  int rank_;
  int size_;
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<DeviceOperations> operations_;
};

}  // namespace sherd::comm::nccl
