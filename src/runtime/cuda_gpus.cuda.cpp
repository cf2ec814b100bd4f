#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cctype>

#include "runtime/visible_gpus.hpp"

namespace sherd::runtime {
namespace {

/// As NVML and nvidia-smi write it.
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (std::size_t at = 0; at < sizeof(uuid.bytes); ++at) {
    const bool dash = at == 4 || at == 6 || at == 8 || at == 10;
    text += fmt::format("{}{:02x}", dash ? "-" : "", static_cast<unsigned char>(uuid.bytes[at]));
  }
  return text;
}

std::string pci_text(int device) {
  char text[32] = {};
  if (cudaDeviceGetPCIBusId(text, sizeof(text), device) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return "";
  }
  std::string pci(text);
  for (char& letter : pci) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return pci;
}

}  // namespace

std::vector<Gpu> cuda_gpus() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // the runtime repeats an error until it is fetched
    return {};
  }
  std::vector<Gpu> gpus;
  for (int device = 0; device < devices; ++device) {
    cudaDeviceProp properties{};
    Gpu gpu;
    gpu.pci = pci_text(device);
    if (cudaGetDeviceProperties(&properties, device) == cudaSuccess) {
      gpu.name = properties.name;
      gpu.uuid = uuid_text(properties.uuid);
    } else {
      static_cast<void>(cudaGetLastError());
    }
    gpus.push_back(gpu);
  }
  return gpus;
}

}  // namespace sherd::runtime
