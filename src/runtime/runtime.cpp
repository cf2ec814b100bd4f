#include "sherd/runtime/runtime.hpp"

#include "runtime/kokkos_env.hpp"
#include "runtime/launch.hpp"
#include "runtime/mpi_env.hpp"
#include "runtime/thread_limits.hpp"
#include "sherd/base/log.hpp"
#include "sherd/runtime/discover.hpp"
#include "sherd/runtime/placement.hpp"
#include "sherd/runtime/team.hpp"

namespace sherd::runtime {
namespace {

/// Before MPI starts, unless it runs already.
Launch launch_of_process() {
  Launch launch = detect_launch();
  if (!mpi_running()) {
    refuse_without_pmi(launch, mpi_library());
    avoid_shared_pmix_store();
  }
  return launch;
}

Topology describe(const Launch& launch) {
  refuse_singleton(launch, world_size(), mpi_library());
  Topology topology = discover_topology(launch);
  set_library_threads(topology.threads_of_rank[static_cast<std::size_t>(topology.rank)]);
  log::set_rank(topology.rank, topology.size, topology.host);
  return topology;
}

}  // namespace

/// Members start in this order and end in reverse.
struct Runtime::Impl {
  Impl(int& argc, char**& argv)
      : launch(launch_of_process()),
        mpi(argc, argv),
        topology(describe(launch)),
        kokkos(argc, argv),
        team(team_of_rank(topology, topology.rank)),
        scope(team.threads() > 1 ? &team : nullptr) {}

  Launch launch;
  MpiEnv mpi;
  Topology topology;
  KokkosEnv kokkos;
  Team team;
  TeamScope scope;
};

Runtime::Runtime(int& argc, char**& argv) : impl_(std::make_unique<Impl>(argc, argv)) {}

Runtime::~Runtime() = default;

int Runtime::rank() const noexcept { return impl_->topology.rank; }

int Runtime::size() const noexcept { return impl_->topology.size; }

const Topology& Runtime::topology() const noexcept { return impl_->topology; }

void Runtime::abort(int exit_code) noexcept { abort_world(exit_code); }

}  // namespace sherd::runtime
