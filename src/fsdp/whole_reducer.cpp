// The reducer where every rank keeps whole gradients.
#include "fsdp/gradient_reducer.hpp"
#include "fsdp/gradient_sum.hpp"
#include "sherd/base/check.hpp"

namespace sherd::fsdp {
namespace {

/// Sums over both levels in place: inside the node each rank gets the sum of its share, shares are
/// summed over the nodes, and spread inside the node again.
class WholeReducer : public GradientReducer {
 public:
  WholeReducer(const GroupSet& set, const StatePlan& plan, LevelComms& comms,
               TrafficReport& traffic)
      : GradientReducer(set, plan, comms.position(), traffic),
        comms_(comms),
        works_(set.buffers.size()),
        reduced_(set.buffers.size(), false),
        started_(set.buffers.size(), false),
        looked_(set.buffers.size(), false) {}

  Tensor begin(std::size_t buffer) override {
    if (!written_[buffer]) {
      reduced_[buffer] = false;
    }
    expect(!reduced_[buffer],
           "backward() after the gradients were summed over the ranks would add whole gradients to "
           "sums. Try: set_is_last_backward(false) before all but the last backward(), or "
           "zero_grad()");
    return mains_[buffer];
  }

  bool adds_in_place(std::size_t buffer) const override { return written_[buffer]; }

  void reduce(std::size_t buffer, bool last) override {
    // One rank with one micro-batch finds its first bad value in the end as well.
    if (plan_.ranks() > 1 || !last || written_[buffer]) {
      watch_.look(mains_[buffer], at_.piece(), buffer, 0);
      looked_[buffer] = true;
    }
    written_[buffer] = true;
    if (last) {
      start(buffer);
    }
  }

  /// By buffer, not by who comes first: finish() issues a collective, in one order on all ranks.
  void finish_all() override {
    for (std::size_t b = 0; b < works_.size(); ++b) {
      if (started_[b]) {
        started_[b] = false;
        finish(b);
      }
    }
  }

  void poll() override {
    for (std::size_t b = 0; b < works_.size(); ++b) {
      if (started_[b]) {
        static_cast<void>(works_[b].test());
      }
    }
  }

 private:
  Tensor sent(std::size_t buffer) const {
    const DType dtype = plan_.policy().reduce();
    return dtype == mains_[buffer].dtype() ? mains_[buffer] : narrowed_view(mains_[buffer], dtype);
  }
  Tensor block(std::size_t buffer) const {
    const Range mine = held(set_.buffers[buffer], Level::node, at_);
    return sent(buffer).slice(mine.first, mine.numel);
  }

  void start(std::size_t buffer) {
    reduced_[buffer] = true;
    started_[buffer] = true;
    if (plan_.ranks() == 1) {
      return;
    }
    if (sent(buffer).dtype() != mains_[buffer].dtype()) {
      static_cast<void>(kernel::narrow_in_place(mains_[buffer], plan_.policy().reduce()));
    }
    const Tensor whole = sent(buffer);
    const Tensor mine = block(buffer);
    const auto numel = static_cast<std::size_t>(mine.numel());
    if (plan_.nodes == 1) {
      const auto all = static_cast<std::size_t>(whole.numel());
      count(LinkLevel::node, Collective::all_reduce, all, whole.dtype());
      works_[buffer] = comms_.local->all_reduce(whole.raw(), whole.raw(), all, whole.dtype(),
                                                comm::ReduceOp::sum);
      return;
    }
    count(LinkLevel::node, Collective::reduce_scatter, numel, whole.dtype());
    comms_.local->reduce_scatter(whole.raw(), mine.raw(), numel, whole.dtype(), comm::ReduceOp::sum)
        .wait();
    count(LinkLevel::cross, Collective::all_reduce, numel, whole.dtype());
    works_[buffer] =
        comms_.cross->all_reduce(mine.raw(), mine.raw(), numel, whole.dtype(), comm::ReduceOp::sum);
  }

  void finish(std::size_t buffer) {
    works_[buffer].wait();
    if (plan_.nodes > 1) {
      const Tensor mine = block(buffer);
      const auto numel = static_cast<std::size_t>(mine.numel());
      count(LinkLevel::node, Collective::all_gather, numel, mine.dtype());
      comms_.local->all_gather(mine.raw(), sent(buffer).raw(), numel, mine.dtype()).wait();
    }
    if (plan_.ranks() > 1 && sent(buffer).dtype() != mains_[buffer].dtype()) {
      widen_in_place(mains_[buffer], plan_.policy().reduce());
    }
    stats_.set(buffer, kernel::begin_grad_stats(answered(buffer)));
    if (!mains_[buffer].is_on_device() && stats_.of(buffer).read().nonfinite > 0) {
      watch_.look(mains_[buffer], plan_.ranks() == 1 && !looked_[buffer] ? 0 : -1, buffer, 0);
    }
    looked_[buffer] = false;
  }

  LevelComms& comms_;
  std::vector<comm::Work> works_;
  std::vector<bool> reduced_;
  std::vector<bool> started_;
  std::vector<bool> looked_;
};

}  // namespace

std::unique_ptr<GradientReducer> make_whole_reducer(const GroupSet& set, const StatePlan& plan,
                                                    LevelComms& comms, TrafficReport& traffic) {
  return std::make_unique<WholeReducer>(set, plan, comms, traffic);
}

}  // namespace sherd::fsdp
