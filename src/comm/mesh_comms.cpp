#include "sherd/comm/mesh_comms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "comm/mpi/mpi_api.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "comm/progress/threaded_communicator.hpp"
#include "comm/shared/shared_communicator.hpp"
#include "comm/shm/shm_team.hpp"
#include "sherd/base/check.hpp"
#include "sherd/base/log.hpp"
#include "sherd/comm/backends.hpp"
#include "sherd/comm/mpi_interop.hpp"
#include "sherd/runtime/discover.hpp"

namespace sherd::comm {
namespace {

enum class Choice { automatic, shm, mpi };

Choice parse_choice(std::string_view backend) {
  validate(backend == "auto" || backend == "shm" || backend == "mpi",
           fmt::format("backend '{}' is unknown. Try: auto, shm or mpi", backend));
  return backend == "auto" ? Choice::automatic : (backend == "shm" ? Choice::shm : Choice::mpi);
}

/// Throws on all ranks when they ask for different things: each would wait for the others in vain.
Choice agreed(Choice choice, MPI_Comm comm) {
  const int mine = static_cast<int>(choice);
  int lowest_and_negated_highest[2] = {mine, -mine};
  mpi::allreduce(MPI_IN_PLACE, lowest_and_negated_highest, 2, MPI_INT, MPI_MIN, comm);
  validate(lowest_and_negated_highest[0] == -lowest_and_negated_highest[1],
           "the ranks ask for different backends. Try: the same configuration on all ranks");
  return choice;
}

std::unique_ptr<Communicator> over_shm(mpi::CommHandle comm) {
  return std::make_unique<SharedCommunicator>(std::make_shared<ShmTeam>(std::move(comm)));
}

std::unique_ptr<Communicator> over_mpi(mpi::CommHandle comm) {
  return std::make_unique<mpi::MpiCommunicator>(std::move(comm));
}

/// Null for polling, and where MPI has no room for a second thread.
std::shared_ptr<ProgressThread> make_progress(Progress progress, const mesh::DeviceMesh& mesh) {
  if (progress == Progress::polling || mesh.nodes() == 1) {
    return nullptr;
  }
  if (!mpi::several_threads_may_call()) {
    log::warning("this MPI gives no MPI_THREAD_MULTIPLE: exchanges between nodes are polled");
    return nullptr;
  }
  return std::make_shared<ProgressThread>();
}

std::unique_ptr<Communicator> across_nodes(mpi::CommHandle comm,
                                           const std::shared_ptr<ProgressThread>& thread) {
  auto plain = std::make_unique<mpi::MpiCommunicator>(std::move(comm));
  if (thread == nullptr) {
    return plain;
  }
  return std::make_unique<ThreadedCommunicator>(std::move(plain), thread);
}

/// The backend asked for, over ranks that share memory. `auto` takes MPI when there is no room.
std::unique_ptr<Communicator> on_one_node(Choice choice, mpi::CommHandle comm) {
  if (mpi::comm_size(comm.get()) == 1 && choice == Choice::automatic) {
    return make_self();
  }
  if (choice != Choice::automatic) {
    return choice == Choice::shm ? over_shm(std::move(comm)) : over_mpi(std::move(comm));
  }
  try {
    return over_shm(mpi::comm_dup(comm.get()));
  } catch (const CommError& error) {  // thrown on all ranks or on none
    if (mpi::comm_rank(comm.get()) == 0) {
      log::warning(std::string("using backend mpi: ") + error.what());
    }
    return over_mpi(std::move(comm));
  }
}

/// The lowest rank of `comm` on the node of each of its ranks.
std::vector<int> lowest_ranks(MPI_Comm comm) {
  const int size = mpi::comm_size(comm);
  if (std::vector<int> forced = runtime::nodes_for_tests(size); !forced.empty()) {
    return forced;
  }
  const mpi::CommHandle node = mpi::comm_split_shared(comm);
  int lowest = mpi::comm_rank(comm);
  mpi::allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, node.get());
  std::vector<int> all(static_cast<std::size_t>(size), 0);
  all[static_cast<std::size_t>(mpi::comm_rank(comm))] = lowest;
  mpi::allreduce(MPI_IN_PLACE, all.data(), size, MPI_INT, MPI_MAX, comm);
  return all;
}

/// The ranks of any communicator as a mesh. Where its nodes hold different numbers of ranks, which
/// no mesh can express, each rank is a node.
mesh::DeviceMesh mesh_of(MPI_Comm comm) {
  const auto topology = runtime::topology_from(mpi::comm_rank(comm), lowest_ranks(comm));
  const std::vector<int>& counts = topology.ranks_per_node;
  const bool even =
      std::all_of(counts.begin(), counts.end(), [&](int count) { return count == counts.front(); });
  return even ? mesh::DeviceMesh(topology.node_of_rank) : mesh::DeviceMesh(topology.size, 1);
}

bool any_rank(bool mine, MPI_Comm comm) {
  int any = mine ? 1 : 0;
  mpi::allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, comm);
  return any != 0;
}

MeshComms split(MPI_Comm all, mesh::DeviceMesh mesh, Choice choice, Progress progress) {
  validate(choice != Choice::shm || mesh.nodes() == 1,
           fmt::format("backend shm needs all ranks on one node (they are on {}). Try: auto",
                       mesh.nodes()));
  const int rank = mpi::comm_rank(all);
  const mesh::MeshCoord at = mesh.coord(rank);
  mpi::CommHandle world = mpi::comm_split(all, 0, mesh.piece(rank));
  mpi::CommHandle local = mpi::comm_split(all, at.node, at.local);
  mpi::CommHandle cross = mpi::comm_split(all, at.local, at.node);

  MeshComms comms{std::move(mesh), nullptr, nullptr, nullptr};
  const auto thread = make_progress(progress, comms.mesh);
  comms.local = on_one_node(choice, mpi::comm_dup(local.get()));
  if (choice == Choice::automatic && any_rank(comms.local->backend() == "mpi", all)) {
    // Without room on one node no node shares memory, for any communicator: all work alike.
    choice = Choice::mpi;
    comms.local = on_one_node(choice, std::move(local));
  }
  if (comms.mesh.nodes() == 1) {
    comms.world = on_one_node(choice, std::move(world));
    comms.cross = make_self();
  } else {
    comms.world = across_nodes(std::move(world), thread);
    comms.cross = across_nodes(std::move(cross), thread);
  }
  return comms;
}

}  // namespace

MeshComms make_mesh_comms(std::string_view backend, Progress progress) {
  const runtime::Topology topology = runtime::discover_ranks();
  const mpi::CommHandle all = mpi::comm_split(MPI_COMM_WORLD, 0, topology.rank);
  const Choice choice = agreed(parse_choice(backend), all.get());
  return split(all.get(), mesh::DeviceMesh(topology.node_of_rank), choice, progress);
}

MeshComms make_mesh_comms(MPI_Comm comm, std::string_view backend, Progress progress) {
  expect(mpi::nothrow::running(), "make_mesh_comms: MPI has not been started, or has ended");
  expect(comm != MPI_COMM_NULL, "make_mesh_comms: this rank is not in the communicator");
  // Split, not duplicated: a Cartesian communicator's topology must not come along.
  const mpi::CommHandle all = mpi::comm_split(comm, 0, mpi::comm_rank(comm));
  const Choice choice = agreed(parse_choice(backend), all.get());
  return split(all.get(), mesh_of(all.get()), choice, progress);
}

MeshComms make_self_comms() {
  return {mesh::DeviceMesh(1, 1), make_self(), make_self(), make_self()};
}

}  // namespace sherd::comm
