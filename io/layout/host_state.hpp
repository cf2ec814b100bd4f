#pragma once

#include <vector>

#include "sherd/dtensor/state_dict.hpp"

namespace sherd::io {

/// The same state with its tensors in host memory: those on a device are copied. Waits for the
/// device.
[[nodiscard]] dtensor::StateDict on_host(const dtensor::StateDict& state);

/// Puts host copies in the place of a state's device tensors while it is loaded. They begin with
/// the values the device has: what is not loaded stays.
class HostCopies {
 public:
  explicit HostCopies(dtensor::StateDict& state);
  /// Puts the device tensors back, as they were.
  ~HostCopies();
  HostCopies(const HostCopies&) = delete;
  HostCopies& operator=(const HostCopies&) = delete;

  /// Copies what was loaded to the device.
  void finish();

 private:
  struct Replaced {
    dtensor::DTensor* tensor;
    Tensor on_device;
  };
  std::vector<Replaced> replaced_;
};

}  // namespace sherd::io
