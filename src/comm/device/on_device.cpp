#include "comm/device/device_self.hpp"
#include "comm/emulated/emulated_communicator.hpp"
#include "sherd/base/check.hpp"
#include "sherd/comm/backends.hpp"
#include "sherd/runtime/emulated_device.hpp"

namespace sherd::comm {

std::unique_ptr<Communicator> make_on_device(Communicator& host) {
  runtime::Device* device = runtime::current_device();
  expect(device != nullptr, "make_on_device: this thread has no device");
  if (host.size() == 1) {
    return std::make_unique<DeviceSelf>(device->shared_from_this());
  }
  if (runtime::as_emulated(device->compute_stream()) != nullptr) {
    return std::make_unique<EmulatedCommunicator>(host.duplicate(), device->shared_from_this());
  }
  return make_nccl(host);
}

}  // namespace sherd::comm
