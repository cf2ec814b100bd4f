#pragma once

#include <memory>

#include "comm/shared/operation.hpp"
#include "comm/shared/peers.hpp"

namespace sherd::comm {

/// The step protocol under all shared-memory collectives. A step is
///
///   open()      this rank's staging memory for the step; throws after a step that has failed
///   publish()   says what this rank is doing and that its staging memory is filled
///   await()     until all ranks have published this step; throws if they do not do the same thing
///   ...         read the peers' staging memory
///   close()     the step is over for this rank
///
/// Two staging buffers a rank take turns. Whoever has published step s has read what it wanted of
/// step s-1, so that after await() of step s the buffers of step s-1, which are those of step s+1,
/// are free: one wait a step is enough.
class Lockstep {
 public:
  explicit Lockstep(std::shared_ptr<SharedTeam> team);

  /// Bytes of shared memory that `ranks` ranks need for it.
  [[nodiscard]] static std::size_t bytes_for(int ranks) noexcept;

  /// Bytes of staging memory of one rank in one step.
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] const Peers& peers() const noexcept { return peers_; }

  std::byte* open() const;
  void publish(const Operation& operation) noexcept;
  void await(const Operation& operation);
  [[nodiscard]] const std::byte* staged_by(int rank) const noexcept;
  [[nodiscard]] const Operation& published_by(int rank) const noexcept;
  void close() noexcept;
  /// Blocks until all ranks have closed the last step: nobody reads this rank's memory any more.
  void drain(const Operation& operation);

 private:
  struct Mailbox;
  [[nodiscard]] Mailbox& mailbox(int rank) const noexcept;
  [[nodiscard]] std::byte* staging(int rank) const noexcept;
  /// Waits for all ranks; after a failure the protocol is out of step for good.
  template <class Cells>
  void await_cells(const Cells& cells, std::uint64_t epoch, const Operation& operation);
  [[noreturn]] void disagree() const;

  Peers peers_;
  std::size_t capacity_;
  std::size_t stride_;  // bytes of one rank's part of the region
  std::unique_ptr<SharedRegion> region_;
  std::uint64_t step_ = 0;
  bool broken_ = false;
};

}  // namespace sherd::comm
