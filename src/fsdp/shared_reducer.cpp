// The reducer where a node's ranks read each other's whole gradients.
#include <optional>
#include <utility>

#include "fsdp/cross_stage.hpp"
#include "fsdp/gradient_reducer.hpp"
#include "fsdp/slot_audit.hpp"
#include "sherd/base/check.hpp"

namespace sherd::fsdp {
namespace {

/// A reduction that this rank has announced and not yet summed.
struct Pending {
  std::size_t buffer = 0;
  std::uint64_t epoch = 0;
  bool last = true;
};

/// A reduction of buffer b, epoch e, is on each rank
///
///   write        the whole gradient into this rank's slot of the ring
///   announce     board slot [b] = e: peers may read it
///   wait         until all ranks of the node have announced e
///   sum          this rank's share out of all ranks' slots
///   take         board slot [buffers + b] = e: this rank has read the others
///   wait         until all have taken e, before this rank writes to its slot again
///
/// A rank puts off the sum of a buffer until it has announced the next one, if its slot is not
/// needed before: by then its peers had a group's backward to come as far, and the wait is short.
/// Before each wait a rank has posted what others may wait for: begin() sums and takes what is
/// pending before it waits for others to take, reduce() announces before it waits for others to
/// announce.
class SharedReducer : public GradientReducer {
 public:
  SharedReducer(const GroupSet& set, const StatePlan& plan, LevelComms& comms,
                TrafficReport& traffic)
      : GradientReducer(set, plan, comms.position(), traffic),
        cross_(set, plan, comms, traffic, {mains_, written_, stats_, watch_}),
        holds_(set.buffers.size(), false),
        epochs_(set.buffers.size(), 0),
        holder_(plan.reduction_ring + 1) {
    place_slots(comms);
    std::vector<int> ranks;
    for (int local = 0; local < at_.local_size; ++local) {
      ranks.push_back(local * at_.nodes + at_.node);
    }
    watch_.set_ranks(std::move(ranks));
    for (const FlatBuffer& buffer : set.buffers) {
      labels_.push_back(group_label("reduce_scatter", set, buffer.group));
    }
  }

  Tensor begin(std::size_t buffer) override {
    const std::size_t slot = ring_slot(set_.buffers[buffer].group, plan_.reduction_ring);
    if (holder_[slot]) {
      take_pending();
      board_->wait_all(set_.buffers.size() + holder_[slot]->buffer, holder_[slot]->epoch,
                       labels_[holder_[slot]->buffer].c_str());
      holder_[slot].reset();
    }
    const Tensor own = whole(at_.local, buffer, plan_.policy().master_dtype);
    audit_begin(Access::write, own);
    return own;
  }

  bool adds_in_place(std::size_t buffer) const override { return holds_[buffer]; }

  void reduce(std::size_t buffer, bool last) override {
    if (plan_.options.accumulation == Accumulation::no_sync && !last) {
      holds_[buffer] = true;
      return;
    }
    holds_[buffer] = false;
    if (plan_.policy().reduce() != plan_.policy().master_dtype) {
      static_cast<void>(kernel::narrow_in_place(
          whole(at_.local, buffer, plan_.policy().master_dtype), plan_.policy().reduce()));
    }
    const auto block = static_cast<std::size_t>(held(set_.buffers[buffer], Level::node, at_).numel);
    count(LinkLevel::node, Collective::reduce_scatter, block, plan_.policy().reduce());
    audit_end(Access::write, whole(at_.local, buffer, plan_.policy().master_dtype));
    board_->post(buffer, ++epochs_[buffer]);  // peers may read at once
    take_pending();                           // the one before: peers had a group's time for it
    pending_.push_back({buffer, epochs_[buffer], last});
    holder_[ring_slot(set_.buffers[buffer].group, plan_.reduction_ring)] = pending_.back();
  }

  void finish_all() override {
    take_pending();
    cross_.finish_all();
  }

  void poll() override { cross_.poll(); }

  bool share_slot(std::size_t a, std::size_t b) const override {
    return ring_slot(a, plan_.reduction_ring) == ring_slot(b, plan_.reduction_ring);
  }

  std::size_t slot_bytes() const override {
    return static_cast<std::size_t>(slots_numel_) * size_of(plan_.policy().master_dtype);
  }
  std::size_t cross_bytes() const override { return cross_.slot_bytes(); }
  std::size_t partial_bytes() const override { return cross_.partial_bytes(); }

 private:
  void forget() override {
    std::fill(holds_.begin(), holds_.end(), false);
    cross_.forget();
  }

  void place_slots(LevelComms& comms) {
    for (const std::int64_t numel : gradient_slot_numel(set_, plan_.reduction_ring)) {
      slot_begin_.push_back(slots_numel_);
      slots_numel_ += numel;
    }
    region_ = comms.local->allocate_shared(slot_bytes() * static_cast<std::size_t>(at_.local_size));
    board_ = comms.local->make_epoch_board(2 * set_.buffers.size());
    expect(region_ != nullptr && board_ != nullptr, "this reducer needs ranks that share memory");
    storage_ = Storage::borrow(region_->bytes().data(), region_->bytes().size(), region_);
  }

  /// The whole gradient of a rank of this node; narrowed ones lie at the start of their place.
  Tensor whole(int local, std::size_t buffer, DType dtype) const {
    const FlatBuffer& flat = set_.buffers[buffer];
    const std::int64_t begin = local * slots_numel_ +
                               slot_begin_[ring_slot(flat.group, plan_.reduction_ring)] +
                               trainable_before(set_, buffer);
    return Tensor::view(storage_,
                        static_cast<std::size_t>(begin) * size_of(plan_.policy().master_dtype),
                        Shape{flat.numel()}, dtype);
  }

  void take_pending() {
    for (const Pending& pending : pending_) {
      take(pending);
    }
    pending_.clear();
  }

  void take(const Pending& pending) {
    const std::size_t b = pending.buffer;
    board_->wait_all(b, pending.epoch, labels_[b].c_str());
    const Range block = held(set_.buffers[b], Level::node, at_);
    std::vector<Tensor> sources;
    for (int local = 0; local < at_.local_size; ++local) {
      sources.push_back(whole(local, b, plan_.policy().reduce()).slice(block.first, block.numel));
      audit_begin(Access::read, sources.back());
    }
    cross_.take(b, sources, pending.last);
    for (const Tensor& source : sources) {
      audit_end(Access::read, source);
    }
    board_->post(set_.buffers.size() + b, pending.epoch);
  }

  CrossStage cross_;
  std::vector<bool> holds_;  // by buffer: an earlier micro-batch's whole gradient
  std::vector<std::uint64_t> epochs_;
  std::vector<std::optional<Pending>> holder_;  // by ring slot
  std::shared_ptr<comm::SharedRegion> region_;
  std::unique_ptr<comm::EpochBoard> board_;
  std::shared_ptr<Storage> storage_;
  std::vector<std::string> labels_;
  std::vector<std::int64_t> slot_begin_;
  std::int64_t slots_numel_ = 0;  // of one rank
  std::vector<Pending> pending_;
};

}  // namespace

std::unique_ptr<GradientReducer> make_shared_reducer(const GroupSet& set, const StatePlan& plan,
                                                     LevelComms& comms, TrafficReport& traffic) {
  return std::make_unique<SharedReducer>(set, plan, comms, traffic);
}

}  // namespace sherd::fsdp
