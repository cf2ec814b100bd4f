#include "fsdp/gradient_reducer.hpp"

namespace sherd::fsdp {
namespace {

struct ReductionSlot {
  Tensor memory;
  std::size_t buffer = 0;
  bool busy = false;
  comm::Work work;
};

class CollectiveReducer : public GradientReducer {
 public:
  CollectiveReducer(const GroupSet& set, DType dtype, comm::Communicator& world, std::size_t ring)
      : GradientReducer(set), world_(world), ring_(ring) {
    for (const std::int64_t numel : ring_slot_numel(set, ring, true)) {
      slots_.emplace_back();
      slots_.back().memory = Tensor::zeros(Shape{numel}, dtype);
    }
    for (const FlatBuffer& buffer : set.buffers) {
      mains_.push_back(buffer.trainable ? Tensor::zeros(Shape{buffer.layout.piece_numel()}, dtype)
                                        : Tensor());
    }
  }

  Tensor begin(std::size_t buffer) override {
    ReductionSlot& slot = slot_of(buffer);
    finish(slot);
    return slot.memory.slice(0, set_.buffers[buffer].layout.buffer_numel());
  }

  bool adds_in_place(std::size_t) const override { return false; }

  void reduce(std::size_t buffer, bool) override {
    ReductionSlot& slot = slot_of(buffer);
    const std::int64_t piece = set_.buffers[buffer].layout.piece_numel();
    slot.buffer = buffer;
    slot.busy = true;
    slot.work = world_.reduce_scatter(slot.memory.raw(), my_piece(slot).raw(),
                                      static_cast<std::size_t>(piece), slot.memory.dtype(),
                                      comm::ReduceOp::sum);
  }

  void finish_all() override {
    for (ReductionSlot& slot : slots_) {
      finish(slot);
    }
  }

  bool share_slot(std::size_t a, std::size_t b) const override {
    return ring_slot(a, ring_) == ring_slot(b, ring_);
  }

  std::size_t slot_bytes() const override {
    std::size_t sum = 0;
    for (const ReductionSlot& slot : slots_) {
      sum += slot.memory.nbytes();
    }
    return sum;
  }

 private:
  ReductionSlot& slot_of(std::size_t buffer) {
    return slots_[ring_slot(set_.buffers[buffer].group, ring_)];
  }

  Tensor my_piece(const ReductionSlot& slot) const {
    const std::int64_t piece = set_.buffers[slot.buffer].layout.piece_numel();
    return slot.memory.slice(world_.rank() * piece, piece);
  }

  void finish(ReductionSlot& slot) {
    if (!slot.busy) {
      return;
    }
    slot.work.wait();
    slot.busy = false;
    const Tensor source = my_piece(slot);
    stats_[slot.buffer] =
        kernel::sum_sources({&source, 1}, mains_[slot.buffer], written_[slot.buffer]);
    written_[slot.buffer] = true;
  }

  comm::Communicator& world_;
  std::size_t ring_;
  std::vector<ReductionSlot> slots_;
};

}  // namespace

std::unique_ptr<GradientReducer> make_collective_reducer(const GroupSet& set, DType dtype,
                                                         comm::Communicator& world,
                                                         std::size_t ring) {
  return std::make_unique<CollectiveReducer>(set, dtype, world, ring);
}

}  // namespace sherd::fsdp
