#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/inproc/inproc_team.hpp"
#include "comm/shared/shared_communicator.hpp"
#include "sherd/base/check.hpp"
#include "sherd/comm/backends.hpp"
#include "sherd/comm/mesh_comms.hpp"

namespace sherd::comm {
namespace {

/// Keeps the first exception of several threads.
class FirstFailure {
 public:
  void keep(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (first_ == nullptr) {
      first_ = std::move(failure);
    }
  }
  void rethrow() const {
    if (first_ != nullptr) {
      std::rethrow_exception(first_);
    }
  }

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

void run_rank(const std::shared_ptr<InprocGroup>& group, int rank,
              const std::function<void(Communicator&)>& body, FirstFailure& failure) {
  const auto team = std::make_shared<InprocTeam>(group, rank);
  try {
    SharedCommunicator communicator(team);
    try {
      body(communicator);
    } catch (...) {  // kept before the communicator's end lets the others fail because of it
      failure.keep(std::current_exception());
      throw;
    }
  } catch (...) {
    failure.keep(std::current_exception());
    give_up(*team);
  }
}

/// The groups of threads of a mesh: all, by node, by local index.
struct MeshGroups {
  MeshGroups(int nodes, int local_size) {
    const auto failed = std::make_shared<std::atomic<std::uint32_t>>(0);
    world = std::make_shared<InprocGroup>(nodes * local_size, failed);
    for (int node = 0; node < nodes; ++node) {
      local.push_back(std::make_shared<InprocGroup>(local_size, failed));
    }
    for (int i = 0; i < local_size; ++i) {
      cross.push_back(std::make_shared<InprocGroup>(nodes, failed));
    }
  }
  std::shared_ptr<InprocGroup> world;
  std::vector<std::shared_ptr<InprocGroup>> local;
  std::vector<std::shared_ptr<InprocGroup>> cross;
};

std::unique_ptr<Communicator> join(const std::shared_ptr<InprocGroup>& group, int rank) {
  return std::make_unique<SharedCommunicator>(std::make_shared<InprocTeam>(group, rank));
}

void run_mesh_rank(const MeshGroups& groups, const mesh::DeviceMesh& mesh, int rank,
                   const std::function<void(MeshComms&)>& body, FirstFailure& failure) {
  const mesh::MeshCoord at = mesh.coord(rank);
  InprocTeam team(groups.world, mesh.piece(rank));
  try {
    MeshComms comms{mesh, join(groups.world, mesh.piece(rank)),
                    join(groups.local[static_cast<std::size_t>(at.node)], at.local),
                    join(groups.cross[static_cast<std::size_t>(at.local)], at.node)};
    try {
      body(comms);
    } catch (...) {
      failure.keep(std::current_exception());
      give_up(team);
      throw;
    }
  } catch (...) {
    failure.keep(std::current_exception());
    give_up(team);
  }
}

void run_threads(int ranks, const std::function<void(int)>& body) {
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { body(rank); });
  }
}

}  // namespace

void run_inproc_mesh(int nodes, int local_size, const std::function<void(MeshComms&)>& body) {
  const mesh::DeviceMesh mesh(nodes, local_size);
  const MeshGroups groups(nodes, local_size);
  FirstFailure failure;
  run_threads(mesh.size(), [&](int rank) { run_mesh_rank(groups, mesh, rank, body, failure); });
  failure.rethrow();
}

void run_inproc(int ranks, const std::function<void(Communicator&)>& body) {
  expect(ranks > 0, "run_inproc needs at least one rank");
  const auto group =
      std::make_shared<InprocGroup>(ranks, std::make_shared<std::atomic<std::uint32_t>>(0));
  FirstFailure failure;
  run_threads(ranks, [&](int rank) { run_rank(group, rank, body, failure); });
  failure.rethrow();
}

}  // namespace sherd::comm
