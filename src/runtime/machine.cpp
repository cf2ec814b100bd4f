#include "runtime/machine.hpp"

#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "sherd/base/unique_handle.hpp"
#include "sherd/runtime/placement.hpp"

namespace sherd::runtime {
namespace {

struct TopologyTraits {
  using Raw = hwloc_topology_t;
  static Raw null() { return nullptr; }
  static void close(Raw raw) noexcept { hwloc_topology_destroy(raw); }
};
using HwlocTopology = UniqueHandle<TopologyTraits>;

struct BitmapTraits {
  using Raw = hwloc_bitmap_t;
  static Raw null() { return nullptr; }
  static void close(Raw raw) noexcept { hwloc_bitmap_free(raw); }
};
using Bitmap = UniqueHandle<BitmapTraits>;

/// With what this job may not use, too: what is numbered inside a cgroup differs from rank to rank.
HwlocTopology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    return {};
  }
  HwlocTopology topology(raw);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  return hwloc_topology_load(raw) == 0 ? std::move(topology) : HwlocTopology();
}

std::vector<int> indexes(hwloc_const_bitmap_t set) {
  std::vector<int> found;
  for (int at = hwloc_bitmap_first(set); at >= 0; at = hwloc_bitmap_next(set, at)) {
    found.push_back(at);
  }
  return found;
}

/// The lowest hardware thread of each core that has one in `set`.
std::vector<int> cores_in(hwloc_topology_t topology, hwloc_const_bitmap_t set) {
  std::vector<int> cores;
  hwloc_obj_t core = nullptr;
  while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != nullptr) {
    if (hwloc_bitmap_intersects(core->cpuset, set) != 0) {
      cores.push_back(hwloc_bitmap_first(core->cpuset));
    }
  }
  std::sort(cores.begin(), cores.end());
  return cores.empty() ? indexes(set) : cores;  // some virtual machines show no cores
}

/// The lowest hardware thread in `set` of each of these cores.
std::vector<int> first_cpus(hwloc_topology_t topology, const std::vector<int>& cores,
                            hwloc_const_bitmap_t set) {
  std::vector<int> cpus = cores;
  hwloc_obj_t core = nullptr;
  while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != nullptr) {
    const auto at = std::find(cores.begin(), cores.end(), hwloc_bitmap_first(core->cpuset));
    if (at != cores.end()) {
      const Bitmap mine(hwloc_bitmap_alloc());
      hwloc_bitmap_and(mine.get(), core->cpuset, set);
      cpus[static_cast<std::size_t>(at - cores.begin())] = hwloc_bitmap_first(mine.get());
    }
  }
  return cpus;
}

std::vector<int> numa_nodes_of(hwloc_topology_t topology, hwloc_const_bitmap_t set) {
  const Bitmap nodes(hwloc_bitmap_alloc());
  hwloc_cpuset_to_nodeset(topology, set, nodes.get());
  return indexes(nodes.get());
}

/// Where the calling thread may run; everything allowed where the system does not say.
Bitmap binding(hwloc_topology_t topology) {
  Bitmap bound(hwloc_bitmap_alloc());
  hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(topology);
  if (hwloc_get_cpubind(topology, bound.get(), HWLOC_CPUBIND_THREAD) != 0) {
    hwloc_bitmap_copy(bound.get(), allowed);
  }
  hwloc_bitmap_and(bound.get(), bound.get(), allowed);
  if (hwloc_bitmap_iszero(bound.get()) != 0) {
    hwloc_bitmap_copy(bound.get(), allowed);
  }
  return bound;
}

/// The NUMA node that a device hangs on, if it is one.
int numa_of(hwloc_topology_t topology, hwloc_obj_t device) {
  const hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, device);
  return near != nullptr && near->nodeset != nullptr && hwloc_bitmap_weight(near->nodeset) == 1
             ? hwloc_bitmap_first(near->nodeset)
             : -1;
}

/// A display controller or accelerator of a maker of GPUs: servers have other display controllers.
bool is_gpu(const decltype(hwloc_obj_attr_u::pcidev)& pci) {
  constexpr int kDisplay = 0x03;
  constexpr int kAccelerator = 0x12;
  constexpr unsigned kAmd = 0x1002;
  constexpr unsigned kIntel = 0x8086;
  constexpr unsigned kNvidia = 0x10de;
  const int kind = pci.class_id >> 8;
  return (kind == kDisplay || (kind == kAccelerator && pci.vendor_id != kIntel)) &&
         (pci.vendor_id == kAmd || pci.vendor_id == kIntel || pci.vendor_id == kNvidia);
}

std::vector<Gpu> gpus_of(hwloc_topology_t topology) {
  std::vector<Gpu> gpus;
  hwloc_obj_t device = nullptr;
  while ((device = hwloc_get_next_pcidev(topology, device)) != nullptr) {
    const auto& pci = device->attr->pcidev;
    if (is_gpu(pci)) {
      const char* name = hwloc_obj_get_info_by_name(device, "PCIDevice");
      gpus.push_back(
          {name == nullptr ? "" : name,
           fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func), "",
           numa_of(topology, device)});
    }
  }
  return gpus;
}

std::vector<Nic> nics_of(hwloc_topology_t topology) {
  std::vector<Nic> nics;
  hwloc_obj_t device = nullptr;
  while ((device = hwloc_get_next_osdev(topology, device)) != nullptr) {
    const hwloc_obj_osdev_type_t type = device->attr->osdev.type;
    if (device->name != nullptr &&
        (type == HWLOC_OBJ_OSDEV_NETWORK || type == HWLOC_OBJ_OSDEV_OPENFABRICS)) {
      nics.push_back({device->name, type == HWLOC_OBJ_OSDEV_NETWORK ? "network" : "openfabrics",
                      numa_of(topology, device)});
    }
  }
  return nics;
}

int count(hwloc_topology_t topology, hwloc_obj_type_t type) {
  return std::max(1, hwloc_get_nbobjs_by_type(topology, type));
}

}  // namespace

void discover_machine(RankFacts& facts) {
  const HwlocTopology owned = load_topology();
  if (!owned) {
    const auto cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    facts.machine.cores = facts.machine.allowed_cores = cores;
    for (int core = 0; core < cores; ++core) {
      facts.cores.push_back(core);
    }
    facts.cpu_of_core = facts.cores;
    facts.cpus = index_list(facts.cores);
    return;
  }
  const hwloc_topology_t topology = owned.get();
  const Bitmap bound = binding(topology);
  facts.cpus = index_list(indexes(bound.get()));
  facts.cores = cores_in(topology, bound.get());
  facts.cpu_of_core = first_cpus(topology, facts.cores, bound.get());
  facts.numa_nodes = numa_nodes_of(topology, bound.get());
  facts.machine = {
      count(topology, HWLOC_OBJ_PACKAGE),
      count(topology, HWLOC_OBJ_NUMANODE),
      static_cast<int>(cores_in(topology, hwloc_topology_get_topology_cpuset(topology)).size()),
      static_cast<int>(cores_in(topology, hwloc_topology_get_allowed_cpuset(topology)).size()),
      gpus_of(topology),
      nics_of(topology)};
}

}  // namespace sherd::runtime
