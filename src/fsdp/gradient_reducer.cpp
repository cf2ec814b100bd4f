// What the three reducers share, and which of them a plan asks for.
#include "fsdp/gradient_reducer.hpp"

#include <algorithm>

namespace sherd::fsdp {

GradientReducer::GradientReducer(const GroupSet& set, const StatePlan& plan, Position at,
                                 TrafficReport& traffic)
    : set_(set),
      plan_(plan),
      at_(at),
      written_(set.buffers.size(), false),
      stats_(set.buffers.size()),
      traffic_(traffic) {
  for (const FlatBuffer& buffer : set.buffers) {
    const Range mine = held(buffer, plan.cut, at);
    mains_.push_back(buffer.trainable ? plan.allocate(plan.options.offload.params,
                                                      Shape{mine.numel}, plan.main_dtype())
                                      : Tensor());
  }
  watch_.reset();
}

void GradientReducer::zero() {
  std::fill(written_.begin(), written_.end(), false);
  stats_.clear();
  watch_.reset();
  forget();
}

Tensor GradientReducer::answered(std::size_t buffer) const {
  const FlatBuffer& flat = set_.buffers[buffer];
  const Range mine = held(flat, plan_.cut, at_);
  const Range own = own_piece(flat, at_);
  return mains_[buffer].slice(own.first - mine.first, own.numel);
}

kernel::GradStats GradientReducer::stats() const {
  kernel::GradStats sum;
  for (const kernel::PendingStats& pending : stats_.all()) {
    const kernel::GradStats one = pending.read();
    sum.sum_of_squares += one.sum_of_squares;
    sum.nonfinite += one.nonfinite;
  }
  return sum;
}

void GradientReducer::settle() {
  watch_.settle();
  stats_.settle();
  for (std::size_t b = 0; b < mains_.size() && !watch_.first(); ++b) {
    if (mains_[b].is_on_device() && stats_.of(b).read().nonfinite > 0) {
      watch_.look(mains_[b], plan_.ranks() == 1 ? 0 : -1, b,
                  held(set_.buffers[b], plan_.cut, at_).first);
      watch_.settle();
    }
  }
}

std::size_t GradientReducer::main_bytes() const {
  std::size_t sum = 0;
  for (const Tensor& tensor : mains_) {
    sum += tensor.defined() ? tensor.nbytes() : 0;
  }
  return sum;
}

std::unique_ptr<GradientReducer> make_gradient_reducer(const GroupSet& set, const StatePlan& plan,
                                                       LevelComms& comms, TrafficReport& traffic) {
  if (plan.cut == Level::whole) {
    return make_whole_reducer(set, plan, comms, traffic);
  }
  return plan.shared ? make_shared_reducer(set, plan, comms, traffic)
                     : make_separate_reducer(set, plan, comms, traffic);
}

}  // namespace sherd::fsdp
