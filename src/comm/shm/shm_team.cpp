#include "comm/shm/shm_team.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "comm/mpi/mpi_api.hpp"
#include "comm/shm/node_memory.hpp"
#include "comm/shm/shared_space.hpp"
#include "sherd/base/error.hpp"

namespace sherd::comm {
namespace {

constexpr std::size_t kMapPage = 4096;

class MappedRegion final : public SharedRegion {
 public:
  MappedRegion(const NodeFile& file, std::size_t mapped, std::size_t bytes)
      : mapping_(file, mapped), bytes_(mapping_.bytes().first(bytes)) {}
  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::span<std::byte> mapped() const noexcept { return mapping_.bytes(); }

 private:
  NodeMapping mapping_;
  std::span<std::byte> bytes_;
};

/// Runs `work` on this rank; all ranks throw what the lowest that failed threw. Collective.
template <class Work>
void on_all(MPI_Comm comm, const Work& work) {
  std::string problem;
  try {
    work();
  } catch (const CommError& error) {
    problem = error.what();
  }
  const int size = mpi::comm_size(comm);
  int who = problem.empty() ? size : mpi::comm_rank(comm);
  mpi::allreduce(MPI_IN_PLACE, &who, 1, MPI_INT, MPI_MIN, comm);
  if (who == size) {
    return;
  }
  auto length = static_cast<int>(problem.size());
  mpi::bcast(&length, 1, MPI_INT, who, comm);
  problem.resize(static_cast<std::size_t>(length));
  mpi::bcast(problem.data(), length, MPI_CHAR, who, comm);
  throw CommError(problem);
}

bool on_every_rank(bool mine, MPI_Comm comm) {
  int all = mine ? 1 : 0;
  mpi::allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm);
  return all != 0;
}

/// Opened by all ranks, or null on all. Collective.
NodeFile nameless_file(std::size_t bytes, int rank, MPI_Comm comm) {
  NodeFile file;
  NodeFileOffer offer;
  on_all(comm, [&] {
    if (rank == 0) {
      require_shared_space(bytes);
      file = make_node_file(bytes);
      offer = offer_of(file);
    }
  });
  std::int64_t numbers[4] = {offer.pid, offer.fd, offer.device, offer.inode};
  mpi::bcast(numbers, 4, MPI_INT64_T, 0, comm);
  if (rank != 0) {
    file = open_offered({numbers[0], numbers[1], numbers[2], numbers[3]});
  }
  return on_every_rank(static_cast<bool>(file), comm) ? std::move(file) : NodeFile();
}

/// The same by a name, which is gone before the file has any contents: a kill in between leaves an
/// empty file. Collective.
NodeFile briefly_named_file(std::size_t bytes, int rank, MPI_Comm comm) {
  NodeFile file;
  std::string name = rank == 0 ? new_name() : std::string();
  name.resize(64);
  mpi::bcast(name.data(), 64, MPI_CHAR, 0, comm);
  name.resize(name.find('\0'));
  on_all(comm, [&] {
    if (rank == 0) {
      require_shared_space(bytes, SharedPlace::dev_shm);
      file = make_named_file(name);
    }
  });
  try {
    on_all(comm, [&] {
      if (rank != 0) {
        file = open_named_file(name);
      }
    });
  } catch (const CommError&) {
    if (rank == 0) {
      remove_name(name);
    }
    throw;
  }
  on_all(comm, [&] {
    if (rank == 0) {
      remove_name(name);
      set_node_file_size(file, bytes);
    }
  });
  return file;
}

struct Part {
  std::size_t first = 0;
  std::size_t bytes = 0;
};

/// Of whole pages.
Part part_of(std::size_t bytes, int rank, int size) {
  const std::size_t part = (bytes / static_cast<std::size_t>(size) / kMapPage + 1) * kMapPage;
  const std::size_t first = std::min(bytes, part * static_cast<std::size_t>(rank));
  return {first, std::min(bytes, first + part) - first};
}

}  // namespace

ShmTeam::ShmTeam(mpi::CommHandle comm)
    : comm_(std::move(comm)),
      rank_(mpi::comm_rank(comm_.get())),
      size_(mpi::comm_size(comm_.get())),
      flag_(allocate(sizeof(std::atomic<std::uint32_t>))) {}

mpi::CommHandle ShmTeam::duplicate_handle() { return mpi::comm_dup(comm_.get()); }

std::unique_ptr<SharedRegion> ShmTeam::allocate(std::size_t bytes) {
  const std::size_t mapped = (bytes / kMapPage + 1) * kMapPage;
  NodeFile file = nameless_file(mapped, rank_, comm_.get());
  if (!file) {
    file = briefly_named_file(mapped, rank_, comm_.get());
  }
  std::unique_ptr<MappedRegion> region;
  on_all(comm_.get(), [&] {
    // Each rank takes and clears its part: the next check sees what is left, and pages lie near the
    // ranks that own them.
    const Part part = part_of(mapped, rank_, size_);
    reserve_part(file, part.first, part.bytes);
    region = std::make_unique<MappedRegion>(file, mapped, bytes);
    std::memset(region->mapped().data() + part.first, 0, part.bytes);
  });
  return region;
}

std::shared_ptr<SharedTeam> ShmTeam::duplicate() {
  return std::make_shared<ShmTeam>(mpi::comm_dup(comm_.get()));
}

std::atomic<std::uint32_t>& ShmTeam::failed() noexcept {
  return *reinterpret_cast<std::atomic<std::uint32_t>*>(flag_->bytes().data());
}

bool shares_memory(MPI_Comm comm) {
  const mpi::CommHandle node = mpi::comm_split_shared(comm);
  int same = mpi::comm_size(node.get()) == mpi::comm_size(comm) ? 1 : 0;
  mpi::allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, comm);
  return same != 0;
}

}  // namespace sherd::comm
