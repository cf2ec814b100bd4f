#include "comm/shm/shm_team.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "comm/mpi/mpi_api.hpp"
#include "comm/shm/shared_space.hpp"
#include "sherd/base/error.hpp"

namespace sherd::comm {
namespace {

constexpr std::size_t kMapPage = 4096;

class WindowRegion final : public SharedRegion {
 public:
  WindowRegion(mpi::WindowHandle window, std::span<std::byte> bytes)
      : window_(std::move(window)), bytes_(bytes) {}
  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return bytes_; }

 private:
  mpi::WindowHandle window_;
  std::span<std::byte> bytes_;
};

/// Rank 0 looks for room and all ranks throw what it found.
void require_space_on_all(std::size_t bytes, MPI_Comm comm) {
  std::string problem;
  if (mpi::comm_rank(comm) == 0) {
    try {
      require_shared_space(bytes);
    } catch (const CommError& error) {
      problem = error.what();
    }
  }
  auto length = static_cast<int>(problem.size());
  mpi::bcast(&length, 1, MPI_INT, 0, comm);
  if (length != 0) {
    problem.resize(static_cast<std::size_t>(length));
    mpi::bcast(problem.data(), length, MPI_CHAR, 0, comm);
    throw CommError(problem);
  }
}

/// Each rank clears its part: that takes the memory now, so that the next check sees what is left,
/// and lays pages near the ranks that own them.
void clear_part(std::span<std::byte> bytes, int rank, int size) {
  const std::size_t part =
      (bytes.size() / static_cast<std::size_t>(size) / kMapPage + 1) * kMapPage;
  const std::size_t begin = std::min(bytes.size(), part * static_cast<std::size_t>(rank));
  const std::size_t end = std::min(bytes.size(), begin + part);
  if (begin < end) {
    std::memset(bytes.data() + begin, 0, end - begin);
  }
}

/// Bytes from `base` to the next page, the same on all ranks (windows are mapped page by page).
std::size_t bytes_to_page(const void* base, MPI_Comm comm) {
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  auto offset = static_cast<std::uint64_t>((kMapPage - address % kMapPage) % kMapPage);
  mpi::bcast(&offset, 1, MPI_UINT64_T, 0, comm);
  return offset;
}

}  // namespace

ShmTeam::ShmTeam(mpi::CommHandle comm)
    : comm_(std::move(comm)),
      rank_(mpi::comm_rank(comm_.get())),
      size_(mpi::comm_size(comm_.get())),
      flag_(allocate(sizeof(std::atomic<std::uint32_t>))) {}

mpi::CommHandle ShmTeam::duplicate_handle() { return mpi::comm_dup(comm_.get()); }

std::unique_ptr<SharedRegion> ShmTeam::allocate(std::size_t bytes) {
  const std::size_t needed = bytes + kMapPage;
  require_space_on_all(needed, comm_.get());
  void* mine = nullptr;
  mpi::WindowHandle window = mpi::win_allocate_shared(rank_ == 0 ? needed : 0, comm_.get(), mine);
  mpi::win_lock_all(window.get());
  auto* base = static_cast<std::byte*>(mpi::win_shared_query(window.get(), 0));
  const std::span<std::byte> memory(base + bytes_to_page(base, comm_.get()), bytes);
  clear_part(memory, rank_, size_);
  mpi::barrier(comm_.get());
  return std::make_unique<WindowRegion>(std::move(window), memory);
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
