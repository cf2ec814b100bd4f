#pragma once

#include <string>
#include <vector>

#include "comm/memory/staging_pool.hpp"
#include "comm/mpi/mpi_exchange.hpp"
#include "comm/mpi/mpi_handles.hpp"
#include "comm/mpi/mpi_work.hpp"
#include "sherd/comm/communicator.hpp"

namespace sherd::comm::mpi {

/// A communicator that is made of an MPI one.
class MpiBased {
 public:
  virtual ~MpiBased() = default;
  MpiBased(const MpiBased&) = delete;
  MpiBased& operator=(const MpiBased&) = delete;
  /// The same ranks again, for other messages. Collective, blocking.
  [[nodiscard]] virtual CommHandle duplicate_handle() = 0;

 protected:
  MpiBased() = default;
};

/// The collectives over MPI messages; any ranks, anywhere. Operations make progress inside test()
/// and wait().
class MpiCommunicator final : public Communicator, public MpiBased {
 public:
  /// What one message may hold. MPI counts with int.
  static constexpr std::size_t kMaxElements = std::size_t{1} << 30;

  /// Takes over `comm`, which must be used by nobody else. Messages longer than `max_elements` are
  /// cut.
  explicit MpiCommunicator(CommHandle comm, std::size_t max_elements = kMaxElements);

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return size_; }
  [[nodiscard]] std::string_view backend() const noexcept override { return "mpi"; }

  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override;
  [[nodiscard]] CommHandle duplicate_handle() override;
  /// duplicate() with its type.
  [[nodiscard]] std::unique_ptr<MpiCommunicator> twin();
  [[nodiscard]] Capabilities capabilities() noexcept override { return {.mpi = this}; }

 private:
  Work start(const Collective& collective) override;
  [[nodiscard]] Work start_all_gather(const Collective& c);
  [[nodiscard]] Work start_reduce_scatter(const Collective& c);
  [[nodiscard]] Work start_all_reduce(const Collective& c);
  [[nodiscard]] Work start_broadcast(const Collective& c);
  /// Complete once all ranks have issued it.
  [[nodiscard]] Work start_barrier();
  [[nodiscard]] Exchange next_exchange(DType dtype);
  [[nodiscard]] std::vector<MpiWork::Stage> small_all_reduce_stages(const std::byte* in,
                                                                    std::byte* out,
                                                                    std::size_t count, DType dtype,
                                                                    ReduceOp op);
  [[nodiscard]] std::vector<MpiWork::Stage> all_reduce_stages(const std::byte* in, std::byte* out,
                                                              std::size_t count, DType dtype,
                                                              ReduceOp op);

  CommHandle comm_;
  std::size_t max_elements_;
  int rank_;
  int size_;
  int tag_limit_;
  int next_tag_ = 0;
  StagingPool pool_;
};

}  // namespace sherd::comm::mpi
