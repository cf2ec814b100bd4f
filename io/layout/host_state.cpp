// A state in device memory as one in host memory, for what cannot read devices.
#include "io/layout/host_state.hpp"

#include <utility>

namespace sherd::io {

dtensor::StateDict on_host(const dtensor::StateDict& state) {
  dtensor::StateDict copies = state;
  for (auto& [key, tensor] : copies.tensors) {
    tensor.local = to_host(tensor.local);
  }
  return copies;
}

HostCopies::HostCopies(dtensor::StateDict& state) {
  for (auto& [key, tensor] : state.tensors) {
    if (tensor.local.is_on_device()) {
      replaced_.push_back({&tensor, tensor.local});
      tensor.local = to_host(tensor.local);
    }
  }
}

HostCopies::~HostCopies() {
  for (const Replaced& each : replaced_) {
    each.tensor->local = each.on_device;
  }
}

void HostCopies::finish() {
  for (const Replaced& each : replaced_) {
    copy(each.tensor->local, each.on_device);
  }
}

}  // namespace sherd::io
