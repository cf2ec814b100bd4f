#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "fsdp/level_comms.hpp"
#include "fsdp/non_finite_watch.hpp"
#include "fsdp/state_plan.hpp"
#include "fsdp/stats_board.hpp"
#include "sherd/comm/communicator.hpp"
#include "sherd/tensor/kernel/optimizer.hpp"
#include "sherd/tensor/tensor.hpp"

namespace sherd::fsdp {

/// Takes whole gradients of one group at a time and leaves their sum over the ranks in the main
/// gradient of each buffer. begin() hands out the memory backward writes to, reduce() starts a
/// reduction, finish_all() ends all that are under way. All but poll() are called in the same order
/// on every rank.
class GradientReducer {
 public:
  virtual ~GradientReducer() = default;
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// Whole gradient buffer of a trainable buffer, to be written by backward. Waits until its memory
  /// is free.
  [[nodiscard]] virtual Tensor begin(std::size_t buffer) = 0;
  /// Whether what begin() returned holds an earlier micro-batch's gradient that must be added to.
  [[nodiscard]] virtual bool adds_in_place(std::size_t buffer) const = 0;
  /// The gradient of `buffer` is complete on this rank. `last`: of the micro-batches of a step.
  virtual void reduce(std::size_t buffer, bool last) = 0;
  virtual void finish_all() = 0;
  /// Lets what is under way progress. Local, any time.
  virtual void poll() {}
  /// Whether two groups' whole gradients take turns in one place.
  [[nodiscard]] virtual bool share_slot(std::size_t, std::size_t) const { return false; }

  /// Forgets all gradients: the next reduction overwrites.
  void zero();
  /// A backward begins. Micro-batches are counted from zero() on.
  void next_micro_batch() { watch_.next_micro_batch(); }

  /// What the optimizer reads: this rank's part (or the whole), in main_dtype().
  [[nodiscard]] const Tensor& main(std::size_t buffer) const { return mains_[buffer]; }
  /// The part of the main gradient this rank answers for: together the ranks cover each element
  /// once.
  [[nodiscard]] Tensor answered(std::size_t buffer) const;
  /// Finds the first non-finite value of main gradients in a device's memory; those in host memory
  /// are searched while they are summed. To be called after finish_all() of a last backward, when
  /// the host has waited for the device: the device's answers are read here.
  void settle();
  /// Sum of squares and number of non-finite values of what answered() returns, over all buffers.
  /// Valid after finish_all() of a last backward; waits for a device.
  [[nodiscard]] kernel::GradStats stats() const;
  [[nodiscard]] const NonFiniteWatch& watch() const { return watch_; }

  [[nodiscard]] std::size_t main_bytes() const;
  [[nodiscard]] virtual std::size_t slot_bytes() const { return 0; }
  [[nodiscard]] virtual std::size_t cross_bytes() const { return 0; }
  [[nodiscard]] virtual std::size_t partial_bytes() const { return 0; }

 protected:
  GradientReducer(const GroupSet& set, const StatePlan& plan, Position at, TrafficReport& traffic);

  virtual void forget() {}
  void count(LinkLevel level, Collective collective, std::size_t numel, DType dtype) {
    traffic_.add(level, collective, level == LinkLevel::node ? at_.local_size : at_.nodes,
                 numel * size_of(dtype));
  }

  const GroupSet& set_;
  const StatePlan& plan_;
  Position at_;
  std::vector<Tensor> mains_;  // by buffer; undefined for frozen ones
  std::vector<bool> written_;  // the main gradient holds something to add to
  StatsBoard stats_;
  NonFiniteWatch watch_;

 private:
  TrafficReport& traffic_;
};

/// The reducer the plan asks for. Collective. `comms` must outlive it.
[[nodiscard]] std::unique_ptr<GradientReducer> make_gradient_reducer(const GroupSet& set,
                                                                     const StatePlan& plan,
                                                                     LevelComms& comms,
                                                                     TrafficReport& traffic);

/// Every rank keeps whole gradients; the last backward sums them over the ranks (one rank:
/// nothing).
[[nodiscard]] std::unique_ptr<GradientReducer> make_whole_reducer(const GroupSet& set,
                                                                  const StatePlan& plan,
                                                                  LevelComms& comms,
                                                                  TrafficReport& traffic);
/// Whole gradients lie in slots in memory the node shares; each rank reads its share out of all of
/// them.
[[nodiscard]] std::unique_ptr<GradientReducer> make_shared_reducer(const GroupSet& set,
                                                                   const StatePlan& plan,
                                                                   LevelComms& comms,
                                                                   TrafficReport& traffic);
/// The same slots in private memory and one reduce-scatter a buffer inside the node.
[[nodiscard]] std::unique_ptr<GradientReducer> make_separate_reducer(const GroupSet& set,
                                                                     const StatePlan& plan,
                                                                     LevelComms& comms,
                                                                     TrafficReport& traffic);

}  // namespace sherd::fsdp
