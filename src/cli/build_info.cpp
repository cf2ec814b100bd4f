#include "cli/build_info.hpp"

#include "sherd/base/config.hpp"

namespace sherd::cli {

Facts build_versions() {
  return {{"sherd", SHERD_VERSION},         {"HDF5", SHERD_HDF5_VERSION},
          {"Kokkos", SHERD_KOKKOS_VERSION}, {"oneDNN", SHERD_DNNL_VERSION},
          {"hwloc", SHERD_HWLOC_VERSION},   {"CUDA", SHERD_CUDA_VERSION},
          {"NCCL", SHERD_NCCL_VERSION}};
}

}  // namespace sherd::cli
