#pragma once

#include <span>
#include <vector>

#include "fsdp/level_comms.hpp"
#include "fsdp/non_finite_watch.hpp"
#include "fsdp/state_plan.hpp"
#include "fsdp/stats_board.hpp"
#include "sherd/tensor/kernel/optimizer.hpp"

namespace sherd::fsdp {

/// Where the second half of a reduction puts what it has summed: members of the reducer.
struct MainGradients {
  std::vector<Tensor>& mains;
  std::vector<bool>& written;
  StatsBoard& stats;
  NonFiniteWatch& watch;
};

/// The second half of a reduction: sums the gradients of a node's ranks over this rank's share of a
/// buffer, and the nodes' sums over the nodes, in the background, into the main gradient. One node:
/// straight into it. Sums on their way lie in a ring of slots like that of whole gradients.
class CrossStage {
 public:
  /// What `to` refers to must outlive it.
  CrossStage(const GroupSet& set, const StatePlan& plan, LevelComms& comms, TrafficReport& traffic,
             MainGradients to);

  /// Takes the gradients of the node's ranks (their values over held(Level::node), in local order).
  /// Their memory is free when it returns. Same order on every rank.
  void take(std::size_t buffer, std::span<const Tensor> sources, bool last);
  void poll();
  void finish_all();
  /// Drops sums that wait for a last micro-batch.
  void forget();

  [[nodiscard]] std::size_t slot_bytes() const;
  [[nodiscard]] std::size_t partial_bytes() const;

 private:
  struct Slot {
    Tensor memory;
    std::size_t buffer = 0;
    bool busy = false;
    comm::Work work;
  };

  [[nodiscard]] Slot& slot_of(std::size_t buffer);
  [[nodiscard]] Tensor place(const Slot& slot) const;
  [[nodiscard]] Tensor result(const Slot& slot) const;
  void sum_node(std::size_t buffer, std::span<const Tensor> sources, DType rounded,
                const Tensor& to, bool accumulate);
  void send(Slot& slot);
  void finish(Slot& slot);

  const GroupSet& set_;
  const StatePlan& plan_;
  LevelComms& comms_;
  TrafficReport& traffic_;
  MainGradients to_;
  Position at_;
  std::vector<Slot> slots_;
  std::vector<Tensor> partials_;       // by buffer; where the step across nodes may wait
  std::vector<bool> partial_written_;  // by buffer
};

}  // namespace sherd::fsdp
