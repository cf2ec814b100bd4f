#pragma once

#include <string>

namespace sherd::runtime {

/// Whether a kind of device can be used by this process, and if not a reason a person can act on.
struct DeviceStatus {
  bool available = false;
  std::string reason;  ///< the devices found when available, else why not
};

/// Whether CUDA devices can be used: this build has the CUDA parts, a driver answers, a device is
/// there and SHERD_DISABLE_CUDA is not set. Local; starts no CUDA context; never throws for an
/// absent device.
[[nodiscard]] DeviceStatus cuda_status();

}  // namespace sherd::runtime
