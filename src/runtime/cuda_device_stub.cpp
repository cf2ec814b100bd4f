#include "sherd/runtime/device.hpp"

namespace sherd::runtime {

DeviceStatus cuda_status() {
  return {false, "not compiled in. Try: configure with -DSHERD_ENABLE_CUDA=ON"};
}

}  // namespace sherd::runtime
