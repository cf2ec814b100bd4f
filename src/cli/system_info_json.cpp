#include <nlohmann/json.hpp>

#include "cli/build_info.hpp"
#include "cli/shared_memory.hpp"
#include "cli/system_info.hpp"
#include "sherd/comm/backends.hpp"
#include "sherd/runtime/device.hpp"
#include "sherd/runtime/findings.hpp"
#include "sherd/runtime/placement.hpp"
#include "sherd/tensor/kernel/matmul.hpp"

namespace sherd::cli {
namespace {

using Json = nlohmann::ordered_json;
using runtime::RankFacts;
using runtime::Topology;

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json gpu_json(const runtime::Gpu& gpu) {
  return {{"pci", gpu.pci},
          {"name", text_or_null(gpu.name)},
          {"uuid", text_or_null(gpu.uuid)},
          {"numa_node", gpu.numa < 0 ? Json() : Json(gpu.numa)}};
}

Json gpus_json(const std::vector<runtime::Gpu>& gpus) {
  Json list = Json::array();
  for (const runtime::Gpu& gpu : gpus) {
    list.push_back(gpu_json(gpu));
  }
  return list;
}

Json versions_json(const Topology& topology) {
  Json json;
  for (const auto& [name, version] : build_versions()) {
    json[name] = version;
  }
  json["MPI"] = topology.mpi_library;
  return json;
}

Json backends_json() {
  Json list = Json::array();
  for (const comm::BackendStatus& status : comm::backend_statuses()) {
    list.push_back(
        {{"name", status.name}, {"available", status.available}, {"reason", status.reason}});
  }
  return list;
}

Json devices_json() {
  const runtime::DeviceStatus cuda = runtime::cuda_status();
  return Json::array({{{"name", "cpu"}, {"available", true}, {"reason", ""}},
                      {{"name", "cuda"}, {"available", cuda.available}, {"reason", cuda.reason}}});
}

Json shared_memory_json() {
  const SharedMemoryFolder folder = look_at_shared_memory();
  if (!folder.known) {
    return {};
  }
  return {{"total", folder.total},
          {"free", folder.free},
          {"left_files", folder.left_files},
          {"left_bytes", folder.left_bytes}};
}

Json slurm_json(const runtime::SlurmJob& job) {
  if (job.id.empty()) {
    return {};
  }
  return {{"job_id", job.id},
          {"job_name", job.name},
          {"node_list", job.nodes},
          {"restart_count", job.restarts},
          {"tasks", job.tasks}};
}

Json launch_json(const Topology& topology) {
  const RankFacts& first = topology.ranks.front();
  return {{"launcher", first.launch.launcher},
          {"variable", text_or_null(first.launch.variable)},
          {"processes", first.launch.processes},
          {"mpi_library", topology.mpi_library},
          {"mpi_thread_level", topology.mpi_thread_level},
          {"ranks", topology.size},
          {"nodes", topology.nodes},
          {"ranks_per_node", topology.ranks_per_node},
          {"reordered", topology.reordered()},
          {"slurm", slurm_json(first.slurm)}};
}

Json nics_json(const std::vector<runtime::Nic>& nics) {
  Json list = Json::array();
  for (const runtime::Nic& nic : nics) {
    list.push_back({{"name", nic.name},
                    {"kind", nic.kind},
                    {"numa_node", nic.numa < 0 ? Json() : Json(nic.numa)}});
  }
  return list;
}

Json nodes_json(const Topology& topology) {
  Json list = Json::array();
  for (int node = 0; node < topology.nodes; ++node) {
    const runtime::Machine& machine = topology.machines[static_cast<std::size_t>(node)];
    list.push_back({{"node", node},
                    {"host", runtime::ranks_of_node(topology, node).front().host},
                    {"ranks", topology.ranks_per_node[static_cast<std::size_t>(node)]},
                    {"sockets", machine.packages},
                    {"numa_nodes", machine.numa_nodes},
                    {"cores", machine.cores},
                    {"allowed_cores", machine.allowed_cores},
                    {"gpus", gpus_json(machine.gpus)},
                    {"nics", nics_json(machine.nics)}});
  }
  return list;
}

Json taken_gpu_json(const Topology& topology, std::size_t rank) {
  const int index = topology.gpu_of_rank[rank];
  if (index < 0) {
    return {};
  }
  Json json = {{"index", index}};
  json.update(gpu_json(topology.ranks[rank].visible_gpus[static_cast<std::size_t>(index)]));
  return json;
}

Json ranks_json(const Topology& topology) {
  Json list = Json::array();
  for (std::size_t rank = 0; rank < topology.ranks.size(); ++rank) {
    const RankFacts& facts = topology.ranks[rank];
    list.push_back({{"rank", rank},
                    {"world_rank", facts.world_rank},
                    {"host", facts.host},
                    {"node", topology.node_of_rank[rank]},
                    {"local_rank", topology.local_of_rank[rank]},
                    {"cpus", facts.cpus},
                    {"cores", facts.cores},
                    {"numa_nodes", facts.numa_nodes},
                    {"threads", topology.threads_of_rank[rank]},
                    {"threads_from", facts.omp_num_threads > 0 ? "OMP_NUM_THREADS" : "cores"},
                    {"pinned_to", runtime::team_of_rank(topology, static_cast<int>(rank)).cpus},
                    {"cpu_quota", facts.cpu_quota > 0 ? Json(facts.cpu_quota) : Json()},
                    {"gpu", taken_gpu_json(topology, rank)},
                    {"visible_gpus", gpus_json(facts.visible_gpus)},
                    {"cuda_visible_devices", text_or_null(facts.cuda_visible_devices)}});
  }
  return list;
}

Json findings_json(const Topology& topology) {
  Json list = Json::array();
  for (const runtime::Finding& finding : runtime::find_problems(topology)) {
    list.push_back({{"id", finding.id},
                    {"severity", runtime::to_string(finding.severity)},
                    {"text", finding.text}});
  }
  return list;
}

}  // namespace

std::string system_info_json(const Topology& topology) {
  const Json json = {{"format", 1},
                     {"versions", versions_json(topology)},
                     {"backends", backends_json()},
                     {"devices", devices_json()},
                     {"matrix_products",
                      {{"f32", kernel::matmul_implementation(DType::f32)},
                       {"bf16", kernel::matmul_implementation(DType::bf16)}}},
                     {"launch", launch_json(topology)},
                     {"nodes", nodes_json(topology)},
                     {"ranks", ranks_json(topology)},
                     {"shared_memory", shared_memory_json()},
                     {"findings", findings_json(topology)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sherd::cli
