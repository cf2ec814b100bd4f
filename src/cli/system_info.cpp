#include "cli/system_info.hpp"

#include <fmt/format.h>

#include "cli/build_info.hpp"
#include "cli/checkpoint_commands.hpp"
#include "cli/shared_memory.hpp"
#include "sherd/comm/backends.hpp"
#include "sherd/runtime/device.hpp"
#include "sherd/tensor/kernel/matmul.hpp"

namespace sherd::cli {
namespace {

/// Only what comes before the first line break: Open MPI's version goes on about its build.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string versions(const runtime::Topology& topology) {
  std::string text = "versions\n";
  for (const auto& [name, version] : build_versions()) {
    text += fmt::format("  {:<8} {}\n", name, version);
  }
  return text + fmt::format("  {:<8} {}\n", "MPI", topology.mpi_library);
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

std::string shared_memory() {
  const SharedMemoryFolder folder = look_at_shared_memory();
  if (!folder.known) {
    return "";
  }
  std::string text = fmt::format("shared memory\n  /dev/shm {} of {} free\n",
                                 human(static_cast<double>(folder.free)),
                                 human(static_cast<double>(folder.total)));
  if (folder.left_files > 0) {
    text += fmt::format(
        "           {} files, {}, of processes that have ended ({}). Try: removing them\n",
        folder.left_files, human(static_cast<double>(folder.left_bytes)), folder.example);
  }
  return text;
}

}  // namespace

std::string system_info(const runtime::Topology& topology) {
  return versions(topology) + backends() + devices() + products() + shared_memory() +
         launch_info(topology);
}

}  // namespace sherd::cli
