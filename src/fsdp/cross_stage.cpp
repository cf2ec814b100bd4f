// The second half of a reduction: a node's sum, then the nodes' sums, into the main gradient.
#include "fsdp/cross_stage.hpp"

#include <algorithm>

#include "fsdp/gradient_sum.hpp"

namespace sherd::fsdp {

CrossStage::CrossStage(const GroupSet& set, const StatePlan& plan, LevelComms& comms,
                       TrafficReport& traffic, MainGradients to)
    : set_(set),
      plan_(plan),
      comms_(comms),
      traffic_(traffic),
      to_(to),
      at_(comms.position()),
      partials_(set.buffers.size()),
      partial_written_(set.buffers.size(), false) {
  if (plan.nodes == 1) {
    return;
  }
  for (const std::int64_t numel : gradient_slot_numel(set, plan.reduction_ring)) {
    slots_.emplace_back();
    slots_.back().memory =
        Tensor::zeros(Shape{numel / at_.local_size}, plan.policy().cross_reduce(), plan.where);
  }
  for (std::size_t b = 0; b < set.buffers.size(); ++b) {
    if (plan.defers() && set.buffers[b].trainable) {
      partials_[b] = Tensor::zeros(Shape{held(set.buffers[b], Level::node, at_).numel},
                                   plan.policy().accumulate(), plan.where);
    }
  }
}

void CrossStage::take(std::size_t buffer, std::span<const Tensor> sources, bool last) {
  const DType reduce = plan_.policy().reduce();
  if (plan_.nodes == 1) {
    sum_node(buffer, sources, reduce, to_.mains[buffer], to_.written[buffer]);
    to_.written[buffer] = true;
    return;
  }
  const bool waits = plan_.defers() && (!last || partial_written_[buffer]);
  if (waits) {
    sum_node(buffer, sources, reduce, partials_[buffer], partial_written_[buffer]);
    partial_written_[buffer] = !last;
  }
  if (plan_.defers() && !last) {
    return;
  }
  Slot& slot = slot_of(buffer);
  finish(slot);  // what lies there goes into its main gradient before the memory is written again
  slot.buffer = buffer;
  const Tensor sum = place(slot);
  if (waits) {
    convert(partials_[buffer], sum);
  } else {
    sum_node(buffer, sources, reduce, sum, false);
  }
  send(slot);
}

void CrossStage::sum_node(std::size_t buffer, std::span<const Tensor> sources, DType rounded,
                          const Tensor& to, bool accumulate) {
  const kernel::PendingStats stats = sum_into(sources, rounded, to, accumulate);
  if (!to.is_on_device() && stats.read().nonfinite > 0) {  // on a device: GradientReducer::settle()
    to_.watch.found_in_sum(sources, to, buffer, held(set_.buffers[buffer], Level::node, at_).first);
  }
  if (plan_.nodes == 1) {
    to_.stats.set(buffer, stats);
  } else {
    to_.stats.keep(stats);
  }
}

void CrossStage::send(Slot& slot) {
  const Tensor sum = place(slot);
  const Tensor mine = result(slot);
  const auto count = static_cast<std::size_t>(mine.numel());
  const std::size_t bytes = count * size_of(sum.dtype());
  if (plan_.cut == Level::world) {
    traffic_.add(LinkLevel::cross, Collective::reduce_scatter, at_.nodes, bytes);
    slot.work = comms_.cross->reduce_scatter(sum.raw(), mine.raw(), count, sum.dtype(),
                                             comm::ReduceOp::sum);
  } else {
    traffic_.add(LinkLevel::cross, Collective::all_reduce, at_.nodes, bytes);
    slot.work =
        comms_.cross->all_reduce(sum.raw(), sum.raw(), count, sum.dtype(), comm::ReduceOp::sum);
  }
  slot.busy = true;  // only now: poll() may run inside a collective that blocks
}

void CrossStage::finish(Slot& slot) {
  if (!slot.busy) {
    return;
  }
  slot.work.wait();
  slot.busy = false;
  const std::size_t b = slot.buffer;
  const Tensor sum = result(slot);
  const kernel::PendingStats stats =
      sum_into({&sum, 1}, plan_.policy().cross_reduce(), to_.mains[b], to_.written[b]);
  to_.written[b] = true;
  const FlatBuffer& buffer = set_.buffers[b];
  const Range mine = held(buffer, plan_.cut, at_);
  if (!sum.is_on_device() && stats.read().nonfinite > 0) {
    to_.watch.look(to_.mains[b], -1, b, mine.first);
  }
  const Range own = own_piece(buffer, at_);
  if (own.numel == mine.numel) {
    to_.stats.set(b, stats);
  } else {
    to_.stats.keep(stats);
    const Tensor answered = to_.mains[b].slice(own.first - mine.first, own.numel);
    to_.stats.set(b, kernel::begin_grad_stats(answered));
  }
}

void CrossStage::poll() {
  for (Slot& slot : slots_) {
    if (slot.busy && slot.work.test()) {
      finish(slot);
    }
  }
}

void CrossStage::finish_all() {
  for (Slot& slot : slots_) {
    finish(slot);
  }
}

void CrossStage::forget() { std::fill(partial_written_.begin(), partial_written_.end(), false); }

CrossStage::Slot& CrossStage::slot_of(std::size_t buffer) {
  return slots_[ring_slot(set_.buffers[buffer].group, plan_.reduction_ring)];
}

Tensor CrossStage::place(const Slot& slot) const {
  return slot.memory.slice(0, held(set_.buffers[slot.buffer], Level::node, at_).numel);
}

Tensor CrossStage::result(const Slot& slot) const {
  if (plan_.cut == Level::node) {
    return place(slot);
  }
  const std::int64_t piece = set_.buffers[slot.buffer].layout.piece_numel();
  return slot.memory.slice(at_.node * piece, piece);
}

std::size_t CrossStage::slot_bytes() const {
  std::size_t sum = 0;
  for (const Slot& slot : slots_) {
    sum += slot.memory.nbytes();
  }
  return sum;
}

std::size_t CrossStage::partial_bytes() const {
  std::size_t sum = 0;
  for (const Tensor& partial : partials_) {
    sum += partial.defined() ? partial.nbytes() : 0;
  }
  return sum;
}

}  // namespace sherd::fsdp
