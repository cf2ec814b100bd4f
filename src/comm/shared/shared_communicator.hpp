#pragma once

#include <memory>

#include "comm/shared/lockstep.hpp"
#include "comm/shared/region_registry.hpp"
#include "comm/shared/shared_team.hpp"
#include "sherd/comm/communicator.hpp"

namespace sherd::comm {

/// The collectives of ranks that share memory: `inproc` and `shm`. Operations are complete when the
/// call returns.
///
/// Buffers anywhere in the caller's memory go through staging memory in chunks that fit the caches.
/// Where all ranks' buffers lie in memory of this communicator's allocate_shared(), the others read
/// them in place: a reduce-scatter then copies nothing, and an all-gather into one buffer that is
/// the same for all ranks is a synchronisation.
class SharedCommunicator final : public Communicator {
 public:
  explicit SharedCommunicator(std::shared_ptr<SharedTeam> team);
  ~SharedCommunicator() override;

  [[nodiscard]] int rank() const noexcept override { return team_->rank(); }
  [[nodiscard]] int size() const noexcept override { return team_->size(); }
  [[nodiscard]] std::string_view backend() const noexcept override { return team_->backend(); }

  [[nodiscard]] std::unique_ptr<SharedRegion> allocate_shared(std::size_t bytes) override;
  [[nodiscard]] std::unique_ptr<EpochBoard> make_epoch_board(std::size_t slots) override;
  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override;
  [[nodiscard]] Capabilities capabilities() noexcept override;

 private:
  Work start(const Collective& collective) override;
  void start_all_gather(const Collective& c);
  void start_reduce_scatter(const Collective& c);
  void start_all_reduce(const Collective& c);
  void start_broadcast(const Collective& c);
  void meet();

  /// Adds where `data` is to the operation, if the other ranks can see it.
  [[nodiscard]] Operation located(Operation operation, const void* data, std::size_t bytes) const;
  /// The first step of a large operation, left open: the ranks tell each other where their buffers
  /// are. Returns whether all can be read in place.
  bool announce(const Operation& operation);
  /// Ends a step in which the others' own memory was read: returns when all have read.
  void finish_in_place(const Operation& operation);
  [[nodiscard]] bool is_one_buffer() const;
  [[nodiscard]] const std::byte* buffer_of(int peer) const;

  void gather_in_place(std::byte* full, std::size_t bytes);
  void gather_staged(const std::byte* shard, std::byte* full, std::size_t bytes,
                     const Operation& operation);
  void scatter_in_place(std::byte* shard, const Operation& operation);
  void scatter_staged(const std::byte* full, std::byte* shard, const Operation& operation);
  void reduce_small(const std::byte* in, std::byte* out, const Operation& operation);
  void reduce_large(const std::byte* in, std::byte* out, const Operation& operation);
  void reduce_chunk(const std::byte* in, std::byte* out, std::size_t count,
                    const Operation& operation);

  int exceptions_;  // in flight when this was made
  std::shared_ptr<SharedTeam> team_;
  Lockstep steps_;
  std::shared_ptr<RegionRegistry> registry_;
};

}  // namespace sherd::comm
