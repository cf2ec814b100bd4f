#pragma once

#include <deque>
#include <functional>

#include "io/save/gate.hpp"
#include "io/save/ring.hpp"
#include "io/save/stager.hpp"
#include "io/save/ticket.hpp"

namespace sherd::io {

/// Moves one rank's bytes from the caller's memory through staging memory into the shard file:
/// copies as fast as there is room, writes as fast as the disk takes it, in one thread.
class SavePipeline {
 public:
  SavePipeline(const StagingPlan& plan, Stager& stager, StagingRing& ring, ShardGate& gate,
               SaveTicket::Impl& ticket)
      : plan_(plan), stager_(stager), ring_(ring), gate_(gate), ticket_(ticket) {}

  /// Returns once all bytes are handed to the file. `halfway` is called once on the way. Throws
  /// IoError; nothing reads or writes the memory any more then.
  void run(const std::function<void()>& all_staged, const std::function<void()>& halfway);

 private:
  struct Filled {
    std::byte* memory = nullptr;
    const std::byte* begin = nullptr;
    std::size_t chunk = 0;
  };
  [[nodiscard]] bool stage_one();
  void submit_filled();
  void reap(bool block);

  const StagingPlan& plan_;
  Stager& stager_;
  StagingRing& ring_;
  ShardGate& gate_;
  SaveTicket::Impl& ticket_;
  std::size_t next_ = 0;       // chunk to copy
  std::deque<Filled> filled_;  // copied, not handed to the queue
  std::deque<Filled> handed_;  // to the queue
};

}  // namespace sherd::io
