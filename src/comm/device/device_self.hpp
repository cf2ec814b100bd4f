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

  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override;

 private:
  Work start(const Collective& collective) override;

  std::shared_ptr<runtime::Device> device_;
};

}  // namespace sherd::comm
