#include "sherd/train/system_info.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sherd/base/config.hpp"
#include "sherd/comm/backends.hpp"
#include "sherd/runtime/device.hpp"
#include "sherd/tensor/kernel/matmul.hpp"

namespace sherd::train {
namespace {

/// Only what comes before the first line break: Open MPI's version goes on about its build.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string versions() {
  std::string mpi = "unknown";
  for (const comm::BackendStatus& status : comm::backend_statuses()) {
    if (status.name == "mpi") {
      mpi = first_line(status.reason);
    }
  }
  return fmt::format(
      "versions\n  sherd    {}\n  MPI      {}\n  HDF5     {}\n  Kokkos   {}\n  oneDNN   {}\n"
      "  hwloc    {}\n  CUDA     {}\n  NCCL     {}\n",
      SHERD_VERSION, mpi, SHERD_HDF5_VERSION, SHERD_KOKKOS_VERSION, SHERD_DNNL_VERSION,
      SHERD_HWLOC_VERSION, SHERD_CUDA_VERSION, SHERD_NCCL_VERSION);
}

std::string backends() {
  std::string text = "communication backends\n";
  for (const comm::BackendStatus& status : comm::backend_statuses()) {
    text += fmt::format("  {:<8} {:<4} {}\n", status.name, status.available ? "yes" : "no",
                        first_line(status.reason));
  }
  return text;
}

std::string devices() {
  const runtime::DeviceStatus cuda = runtime::cuda_status();
  return fmt::format("devices\n  cpu      yes\n  cuda     {:<4} {}\n",
                     cuda.available ? "yes" : "no", first_line(cuda.reason));
}

std::string products() {
  return fmt::format("matrix products\n  f32      {}\n  bf16     {}\n",
                     kernel::matmul_implementation(DType::f32),
                     kernel::matmul_implementation(DType::bf16));
}

std::string mesh(const runtime::Topology& topology) {
  const auto [least, most] =
      std::minmax_element(topology.ranks_per_node.begin(), topology.ranks_per_node.end());
  const std::string ranks =
      *least == *most ? fmt::format("{}", *least) : fmt::format("{} to {} (uneven)", *least, *most);
  return fmt::format(
      "mesh\n  launcher {}\n  nodes x local ranks = {} x {}, {} rank{} in all\n"
      "  {}: {} core{}, {} NUMA node{}, {} GPU{}\n",
      topology.launcher, topology.nodes, ranks, topology.size, topology.size == 1 ? "" : "s",
      topology.host, topology.cores, topology.cores == 1 ? "" : "s", topology.numa_nodes,
      topology.numa_nodes == 1 ? "" : "s", topology.gpus, topology.gpus == 1 ? "" : "s");
}

}  // namespace

std::string system_info(const runtime::Topology& topology) {
  return versions() + backends() + devices() + products() + mesh(topology);
}

}  // namespace sherd::train
