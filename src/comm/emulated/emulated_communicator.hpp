#pragma once

#include <memory>

#include "comm/device/device_operations.hpp"
#include "comm/progress/progress_thread.hpp"
#include "sherd/comm/communicator.hpp"

namespace sherd::comm {

/// Collectives on the memory of an emulated device, done by a communicator on host memory when
/// their turn in the stream comes. Where that one blocks (ranks that share memory), a thread of
/// this communicator's own waits: the ranks' streams need not come to it at the same time, nor in
/// the same order as to others.
class EmulatedCommunicator final : public Communicator {
 public:
  EmulatedCommunicator(std::unique_ptr<Communicator> host, std::shared_ptr<runtime::Device> device);
  /// Blocks until all operations are complete, or gives them up while an exception is on its way.
  ~EmulatedCommunicator() override;

  [[nodiscard]] int rank() const noexcept override { return host_->rank(); }
  [[nodiscard]] int size() const noexcept override { return host_->size(); }
  [[nodiscard]] std::string_view backend() const noexcept override { return "emulated"; }

  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override;
  [[nodiscard]] Capabilities capabilities() noexcept override {
    return {.device = operations_.get()};
  }

 private:
  Work start(const Collective& collective) override;
  void meet();

  std::shared_ptr<Communicator> host_;
  std::shared_ptr<Communicator> bootstrap_;  // for duplicate(): the other may be busy
  std::shared_ptr<ProgressThread> thread_;   // null: the host's operations do not block
  std::shared_ptr<DeviceOperations> operations_;
  int exceptions_;  // in flight when this was made
};

}  // namespace sherd::comm
