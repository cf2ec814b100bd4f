#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sherd/base/error.hpp"
#include "sherd/runtime/emulated_device.hpp"

namespace sherd::test {

/// A kind of device that tests run on.
struct DeviceKind {
  std::string name;
  std::shared_ptr<runtime::Device> (*open)();
  [[nodiscard]] bool is_emulated() const { return name != "cuda"; }
};

inline bool cuda_opens() {
  try {
    return runtime::cuda_status().available && runtime::open_cuda(0) != nullptr;
  } catch (const ConfigError&) {  // Kokkos has no CUDA
    return false;
  }
}

/// The emulated device, late and at once, and a CUDA device where the build and the machine have
/// one.
inline std::vector<DeviceKind> device_kinds() {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  std::vector<DeviceKind> kinds = {
      {"emulated", [] { return runtime::make_emulated({.memory_bytes = kBytes, .seed = 7}); }},
      {"eager",
       [] { return runtime::make_emulated({.memory_bytes = kBytes, .queued_operations = 0}); }}};
  if (cuda_opens()) {
    kinds.push_back({"cuda", [] { return runtime::open_cuda(0); }});
  }
  return kinds;
}

}  // namespace sherd::test
