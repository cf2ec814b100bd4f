#include "runtime/machine.hpp"

#include <hwloc.h>

#include <algorithm>
#include <cstring>

#include "sherd/base/unique_handle.hpp"

namespace sherd::runtime {
namespace {

struct TopologyTraits {
  using Raw = hwloc_topology_t;
  static Raw null() { return nullptr; }
  static void close(Raw raw) noexcept { hwloc_topology_destroy(raw); }
};
using HwlocTopology = UniqueHandle<TopologyTraits>;

HwlocTopology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    return {};
  }
  HwlocTopology topology(raw);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  return hwloc_topology_load(raw) == 0 ? std::move(topology) : HwlocTopology();
}

bool is_gpu(hwloc_obj_t device) {
  if (device->attr->osdev.type == HWLOC_OBJ_OSDEV_COPROC) {
    return device->subtype != nullptr && std::strcmp(device->subtype, "OpenCL") != 0;
  }
  return false;
}

int count_gpus(hwloc_topology_t topology) {
  int coprocessors = 0;
  int cards = 0;  // without a CUDA or ROCm plugin a GPU still shows as a kernel graphics device
  hwloc_obj_t device = nullptr;
  while ((device = hwloc_get_next_osdev(topology, device)) != nullptr) {
    coprocessors += is_gpu(device) ? 1 : 0;
    const bool render = device->attr->osdev.type == HWLOC_OBJ_OSDEV_GPU &&
                        device->name != nullptr && std::strncmp(device->name, "renderD", 7) == 0;
    cards += render ? 1 : 0;
  }
  return std::max(coprocessors, cards);
}

}  // namespace

Machine discover_machine() {
  Machine machine;
  const HwlocTopology topology = load_topology();
  if (topology) {
    machine.cores = std::max(1, hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE));
    machine.numa_nodes = std::max(1, hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_NUMANODE));
    machine.gpus = count_gpus(topology.get());
  }
  return machine;
}

}  // namespace sherd::runtime
