#pragma once

#include <string>
#include <vector>

namespace sherd::runtime {

/// A device as hwloc or CUDA sees it.
struct Gpu {
  std::string name;  ///< "NVIDIA H200"; empty when nobody knows
  std::string pci;   ///< "0000:18:00.0"
  std::string uuid;  ///< empty where only hwloc has seen it
  int numa = -1;     ///< the NUMA node it hangs on; -1: none in particular
};

struct Nic {
  std::string name;  ///< "eth0", "mlx5_0"
  std::string kind;  ///< "network" (a kernel interface) or "openfabrics" (InfiniBand, RoCE)
  int numa = -1;
};

/// What hwloc sees of a node.
struct Machine {
  int packages = 1;
  int numa_nodes = 1;
  int cores = 1;          ///< of the whole node
  int allowed_cores = 1;  ///< those this job may use, as the system (a cgroup) limits it
  std::vector<Gpu> gpus;
  std::vector<Nic> nics;
};

/// What started this process, read from the environment.
struct Launch {
  std::string launcher = "none";  ///< "mpirun", "srun (PMIx)", "srun (PMI)", "srun", ...
  std::string variable;           ///< the variable that says so, "PMIX_RANK"
  int processes = 1;              ///< how many the launcher says it has started
};

/// What Slurm says of the job; empty or 0 where it says nothing.
struct SlurmJob {
  std::string id;
  std::string name;
  std::string nodes;  ///< "cn[1-4]"
  int restarts = 0;   ///< how often it has been requeued
  int tasks = 0;      ///< SLURM_NTASKS
};

/// What one rank knows of itself. Every decision about the launch is a function of all ranks'
/// facts.
struct RankFacts {
  int world_rank = 0;   ///< in MPI_COMM_WORLD
  int node_leader = 0;  ///< the lowest world rank that shares memory with this one
  std::string host;
  Machine machine;                ///< only the node leader's is filled
  std::string cpus;               ///< hardware threads it may run on, "0-3,8"
  std::vector<int> cores;         ///< cores it may run on, each named by its lowest hardware thread
  std::vector<int> cpu_of_core;   ///< the lowest hardware thread of each core it may run on
  std::vector<int> numa_nodes;    ///< NUMA nodes of those cores
  double cpu_quota = 0;           ///< processors' worth of time of its control group; 0: no limit
  std::vector<Gpu> visible_gpus;  ///< by CUDA's index
  std::string cuda_visible_devices;  ///< the variable; empty when not set
  std::string omp_text;              ///< OMP_NUM_THREADS
  int omp_num_threads = 0;           ///< its first number; 0 when not set, -1 when it is none
  Launch launch;
  SlurmJob slurm;
};

}  // namespace sherd::runtime
