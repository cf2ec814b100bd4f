#include "runtime/facts.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "runtime/cpu_quota.hpp"
#include "runtime/launch.hpp"
#include "runtime/machine.hpp"
#include "runtime/mpi_env.hpp"
#include "runtime/visible_gpus.hpp"
#include "sherd/runtime/placement.hpp"

namespace sherd::runtime {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Gpu, name, pci, uuid, numa)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Nic, name, kind, numa)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Machine, packages, numa_nodes, cores, allowed_cores, gpus, nics)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Launch, launcher, variable, processes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SlurmJob, id, name, nodes, restarts, tasks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankFacts, world_rank, node_leader, host, machine, cpus, cores,
                                   cpu_of_core, numa_nodes, cpu_quota, visible_gpus,
                                   cuda_visible_devices, omp_text, omp_num_threads, launch, slurm)

namespace {

std::string text_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

/// hwloc alone knows where a device hangs, CUDA alone its UUID.
void join(std::vector<Gpu>& visible, const std::vector<Gpu>& on_node) {
  for (Gpu& gpu : visible) {
    for (const Gpu& other : on_node) {
      if (gpu.pci == other.pci) {
        gpu.numa = other.numa;
        gpu.name = gpu.name.empty() ? other.name : gpu.name;
      }
    }
  }
}

}  // namespace

RankFacts facts_of_this_rank(int leader, const Launch& launch) {
  RankFacts facts;
  facts.world_rank = world_rank();
  facts.node_leader = leader;
  facts.host = processor_name();
  discover_machine(facts);
  facts.visible_gpus = visible_gpus();
  join(facts.visible_gpus, facts.machine.gpus);
  if (facts.world_rank != leader) {
    facts.machine = {};  // said once a node
  }
  facts.cuda_visible_devices = text_of("CUDA_VISIBLE_DEVICES");
  facts.omp_text = text_of("OMP_NUM_THREADS");
  facts.omp_num_threads = threads_said(facts.omp_text);
  facts.cpu_quota = cpu_quota();
  facts.launch = launch;
  facts.slurm = detect_slurm_job();
  return facts;
}

std::string pack(const RankFacts& facts) {
  std::string bytes;
  nlohmann::json::to_cbor(nlohmann::json(facts), bytes);
  return bytes;
}

RankFacts unpack(const std::string& bytes) {
  return nlohmann::json::from_cbor(bytes).get<RankFacts>();
}

std::vector<RankFacts> gather_facts(const RankFacts& mine) {
  std::vector<RankFacts> all;
  for (const std::string& bytes : gather_bytes(pack(mine))) {
    all.push_back(unpack(bytes));
  }
  return all;
}

}  // namespace sherd::runtime
