// The reducer where whole gradients lie in slots of each rank's own.
#include <algorithm>

#include "fsdp/cross_stage.hpp"
#include "fsdp/gradient_reducer.hpp"
#include "fsdp/gradient_sum.hpp"
#include "fsdp/slot_audit.hpp"

namespace sherd::fsdp {
namespace {

/// Holds one buffer at a time: a group has at most one that is trainable.
struct ReductionSlot {
  Tensor memory;
  std::size_t buffer = 0;
  bool busy = false;
  bool last = true;
  comm::Work work;
};

/// A slot goes through: begin() ends the reduction that lies in it, backward writes, reduce()
/// starts the sum inside the node in place, finish() hands this rank's share to the cross stage.
/// Sums inside the node end at begin() or finish_all(), points that all ranks come to in one order:
/// the cross stage issues collectives, which poll() may not.
class SeparateReducer : public GradientReducer {
 public:
  SeparateReducer(const GroupSet& set, const StatePlan& plan, LevelComms& comms,
                  TrafficReport& traffic)
      : GradientReducer(set, plan, comms.position(), traffic),
        comms_(comms),
        cross_(set, plan, comms, traffic, {mains_, written_, stats_, watch_}),
        holds_(set.buffers.size(), false) {
    for (const std::int64_t numel : gradient_slot_numel(set, plan.reduction_ring)) {
      slots_.emplace_back();
      slots_.back().memory = Tensor::zeros(Shape{numel}, plan.policy().master_dtype, plan.where);
    }
  }

  Tensor begin(std::size_t buffer) override {
    finish(slot_of(buffer));
    audit_begin(Access::write, whole(buffer));
    return whole(buffer);
  }

  bool adds_in_place(std::size_t buffer) const override { return holds_[buffer]; }

  void reduce(std::size_t buffer, bool last) override {
    if (plan_.options.accumulation == Accumulation::no_sync && !last) {
      holds_[buffer] = true;
      return;
    }
    holds_[buffer] = false;
    const DType dtype = plan_.policy().reduce();
    watch_.look(whole(buffer), at_.piece(), buffer, 0);  // afterwards it is overwritten
    const Tensor gradient = dtype == plan_.policy().master_dtype
                                ? whole(buffer)
                                : kernel::narrow_in_place(whole(buffer), dtype);
    audit_end(Access::write, whole(buffer));
    ReductionSlot& slot = slot_of(buffer);
    slot.buffer = buffer;
    slot.busy = true;
    slot.last = last;
    const Tensor mine = block(gradient, buffer);
    const auto numel = static_cast<std::size_t>(mine.numel());
    count(LinkLevel::node, Collective::reduce_scatter, numel, dtype);
    slot.work =
        comms_.local->reduce_scatter(gradient.raw(), mine.raw(), numel, dtype, comm::ReduceOp::sum);
  }

  /// In the order of the slots, which is the same on all ranks.
  void finish_all() override {
    for (ReductionSlot& slot : slots_) {
      finish(slot);
    }
    cross_.finish_all();
  }

  void poll() override {
    for (ReductionSlot& slot : slots_) {
      static_cast<void>(slot.work.test());
    }
    cross_.poll();
  }

  bool share_slot(std::size_t a, std::size_t b) const override {
    return ring_slot(a, plan_.reduction_ring) == ring_slot(b, plan_.reduction_ring);
  }

  std::size_t slot_bytes() const override {
    std::size_t sum = 0;
    for (const ReductionSlot& slot : slots_) {
      sum += slot.memory.nbytes();
    }
    return sum;
  }
  std::size_t cross_bytes() const override { return cross_.slot_bytes(); }
  std::size_t partial_bytes() const override { return cross_.partial_bytes(); }

 private:
  void forget() override {
    std::fill(holds_.begin(), holds_.end(), false);
    cross_.forget();
  }

  ReductionSlot& slot_of(std::size_t buffer) {
    return slots_[ring_slot(set_.buffers[buffer].group, plan_.reduction_ring)];
  }

  Tensor whole(std::size_t buffer) {
    return slot_of(buffer).memory.slice(trainable_before(set_, buffer),
                                        set_.buffers[buffer].numel());
  }

  Tensor block(const Tensor& gradient, std::size_t buffer) const {
    const Range mine = held(set_.buffers[buffer], Level::node, at_);
    return gradient.slice(mine.first, mine.numel);
  }

  void finish(ReductionSlot& slot) {
    if (!slot.busy) {
      return;
    }
    slot.work.wait();
    slot.busy = false;
    const Tensor wide = whole(slot.buffer);
    const Tensor gradient = plan_.policy().reduce() == wide.dtype()
                                ? wide
                                : narrowed_view(wide, plan_.policy().reduce());
    const Tensor source = block(gradient, slot.buffer);
    cross_.take(slot.buffer, {&source, 1}, slot.last);
  }

  LevelComms& comms_;
  CrossStage cross_;
  std::vector<bool> holds_;  // by buffer
  std::vector<ReductionSlot> slots_;
};

}  // namespace

std::unique_ptr<GradientReducer> make_separate_reducer(const GroupSet& set, const StatePlan& plan,
                                                       LevelComms& comms, TrafficReport& traffic) {
  return std::make_unique<SeparateReducer>(set, plan, comms, traffic);
}

}  // namespace sherd::fsdp
