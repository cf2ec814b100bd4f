#include <optional>
#include <utility>

#include "fsdp/gradient_reducer.hpp"
#include "sherd/base/check.hpp"

namespace sherd::fsdp {
namespace {

/// A reduction that this rank has announced and not yet summed.
struct Pending {
  std::size_t buffer = 0;
  std::uint64_t epoch = 0;
};

/// Board slots: [0, buffers) count the gradients a rank has made ready, [buffers, 2*buffers) those
/// whose sum it has taken. A slot of the ring may be written again when all ranks have taken the
/// sum of what lay in it last.
class SharedReducer : public GradientReducer {
 public:
  SharedReducer(const GroupSet& set, DType dtype, comm::Communicator& world, std::size_t ring,
                std::unique_ptr<comm::SharedRegion> region)
      : GradientReducer(set),
        rank_(world.rank()),
        ranks_(world.size()),
        ring_(ring),
        region_(std::move(region)),
        board_(world.make_epoch_board(2 * set.buffers.size())),
        epochs_(set.buffers.size(), 0),
        holder_(ring + 1) {
    expect(board_ != nullptr, "the shared reducer needs ranks that share memory");
    place_slots(dtype);
    for (const FlatBuffer& buffer : set.buffers) {
      labels_.push_back(group_label("reduce_scatter", set, buffer.group));
      mains_.push_back(buffer.trainable ? Tensor::zeros(Shape{buffer.layout.piece_numel()}, dtype)
                                        : Tensor());
    }
  }

  Tensor begin(std::size_t buffer) override {
    const std::size_t group = set_.buffers[buffer].group;
    const std::size_t slot = ring_slot(group, ring_);
    if (holder_[slot]) {
      finish_all();
      board_->wait_all(set_.buffers.size() + holder_[slot]->buffer, holder_[slot]->epoch,
                       labels_[holder_[slot]->buffer].c_str());
      holder_[slot].reset();
    }
    return whole(rank_, buffer);
  }

  bool adds_in_place(std::size_t) const override { return false; }

  void reduce(std::size_t buffer, bool) override {
    board_->post(buffer, ++epochs_[buffer]);  // peers may read at once
    take_pending();                           // the one before: peers had a group's time for it
    pending_.push_back({buffer, epochs_[buffer]});
    holder_[ring_slot(set_.buffers[buffer].group, ring_)] = pending_.back();
  }

  void finish_all() override { take_pending(); }

  bool share_slot(std::size_t a, std::size_t b) const override {
    return ring_slot(a, ring_) == ring_slot(b, ring_);
  }

  std::size_t slot_bytes() const override { return slots_.front().nbytes(); }

 private:
  void place_slots(DType dtype) {
    const auto storage = Storage::borrow(region_->bytes().data(), region_->bytes().size(), region_);
    std::int64_t total = 0;
    for (const std::int64_t numel : ring_slot_numel(set_, ring_, true)) {
      slot_begin_.push_back(total);
      total += numel;
    }
    for (int r = 0; r < ranks_; ++r) {
      const auto offset = static_cast<std::size_t>(r * total) * size_of(dtype);
      slots_.push_back(Tensor::view(storage, offset, Shape{total}, dtype));
    }
  }

  Tensor whole(int rank, std::size_t buffer) const {
    const FlatBuffer& flat = set_.buffers[buffer];
    return slots_[static_cast<std::size_t>(rank)].slice(slot_begin_[ring_slot(flat.group, ring_)],
                                                        flat.layout.buffer_numel());
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
    const std::int64_t piece = set_.buffers[b].layout.piece_numel();
    std::vector<Tensor> sources;
    for (int r = 0; r < ranks_; ++r) {
      sources.push_back(whole(r, b).slice(rank_ * piece, piece));
    }
    stats_[b] = kernel::sum_sources(sources, mains_[b], written_[b]);
    written_[b] = true;
    board_->post(set_.buffers.size() + b, pending.epoch);
  }

  int rank_;
  int ranks_;
  std::size_t ring_;
  std::shared_ptr<comm::SharedRegion> region_;
  std::unique_ptr<comm::EpochBoard> board_;
  std::vector<std::string> labels_;
  std::vector<std::uint64_t> epochs_;
  std::vector<std::int64_t> slot_begin_;
  std::vector<Tensor> slots_;  // by rank
  std::vector<Pending> pending_;
  std::vector<std::optional<Pending>> holder_;  // by ring slot
};

}  // namespace

std::unique_ptr<GradientReducer> make_shared_reducer(const GroupSet& set, DType dtype,
                                                     comm::Communicator& world, std::size_t ring,
                                                     std::unique_ptr<comm::SharedRegion> region) {
  return std::make_unique<SharedReducer>(set, dtype, world, ring, std::move(region));
}

}  // namespace sherd::fsdp
