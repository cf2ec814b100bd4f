#include "fsdp/gradient_reducer.hpp"
#include "sherd/base/check.hpp"

namespace sherd::fsdp {
namespace {

class WholeReducer : public GradientReducer {
 public:
  WholeReducer(const GroupSet& set, DType dtype, comm::Communicator& world)
      : GradientReducer(set),
        world_(world),
        works_(set.buffers.size()),
        reduced_(set.buffers.size(), false),
        started_(set.buffers.size(), false) {
    for (const FlatBuffer& buffer : set.buffers) {
      mains_.push_back(buffer.trainable ? Tensor::zeros(Shape{buffer.layout.buffer_numel()}, dtype)
                                        : Tensor());
    }
  }

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
    written_[buffer] = true;
    if (!last) {
      return;
    }
    const Tensor& gradient = mains_[buffer];
    if (world_.size() > 1) {
      works_[buffer] = world_.all_reduce(gradient.raw(), gradient.raw(),
                                         static_cast<std::size_t>(gradient.numel()),
                                         gradient.dtype(), comm::ReduceOp::sum);
    }
    reduced_[buffer] = true;
    started_[buffer] = true;
  }

  void finish_all() override {
    for (std::size_t b = 0; b < works_.size(); ++b) {
      if (started_[b]) {
        works_[b].wait();
        const std::int64_t piece = set_.buffers[b].layout.piece_numel();
        stats_[b] = kernel::grad_stats(mains_[b].slice(world_.rank() * piece, piece));
        started_[b] = false;
      }
    }
  }

 private:
  comm::Communicator& world_;
  std::vector<comm::Work> works_;
  std::vector<bool> reduced_;
  std::vector<bool> started_;
};

}  // namespace

std::unique_ptr<GradientReducer> make_whole_reducer(const GroupSet& set, DType dtype,
                                                    comm::Communicator& world) {
  return std::make_unique<WholeReducer>(set, dtype, world);
}

}  // namespace sherd::fsdp
