#include "sherd/base/error.hpp"
#include "sherd/runtime/device.hpp"

namespace sherd::runtime {

DeviceStatus cuda_status() {
  return {false, "not compiled in. Try: configure with -DSHERD_ENABLE_CUDA=ON"};
}

std::shared_ptr<Device> open_cuda(int) {
  throw ConfigError("device cuda is not there: " + cuda_status().reason);
}

}  // namespace sherd::runtime
