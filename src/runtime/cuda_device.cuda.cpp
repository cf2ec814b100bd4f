#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstdlib>

#include "sherd/runtime/device.hpp"

namespace sherd::runtime {

DeviceStatus cuda_status() {
  if (std::getenv("SHERD_DISABLE_CUDA") != nullptr) {
    return {false, "disabled by SHERD_DISABLE_CUDA"};
  }
  int devices = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  if (code != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // the runtime repeats an error until it is fetched
    return {false, cudaGetErrorString(code)};
  }
  if (devices == 0) {
    return {false,
            "no CUDA device is visible. Try: --gpus-per-node, or check CUDA_VISIBLE_DEVICES"};
  }
  return {true, fmt::format("{} CUDA device{}", devices, devices == 1 ? "" : "s")};
}

}  // namespace sherd::runtime
