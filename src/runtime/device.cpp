#include "sherd/runtime/device.hpp"

#include <utility>

namespace sherd::runtime {
namespace {

thread_local Device* current = nullptr;

void enter(Device* device) {
  if (device != nullptr) {
    device->make_current();
  }
  current = device;
}

}  // namespace

Device* current_device() noexcept { return current; }

DeviceScope::DeviceScope(std::shared_ptr<Device> device)
    : device_(std::move(device)), previous_(current) {
  enter(device_.get());
}

DeviceScope::~DeviceScope() {
  try {
    enter(previous_);
  } catch (...) {  // it was current before: the next call on it says what is wrong
    current = previous_;
  }
}

}  // namespace sherd::runtime
