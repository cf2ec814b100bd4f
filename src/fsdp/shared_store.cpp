#include <utility>

#include "fsdp/parameter_store.hpp"
#include "sherd/base/check.hpp"

namespace sherd::fsdp {
namespace {

/// The board's slot b counts the updates of buffer b's pieces, rank by rank. A gather waits until
/// every rank's count has reached this rank's own: all ranks make the same updates in the same
/// order.
class SharedStore : public ParameterStore {
 public:
  SharedStore(const GroupSet& set, const MixedPrecisionPolicy& policy, comm::Communicator& world,
              std::unique_ptr<comm::SharedRegion> region)
      : set_(set),
        rank_(world.rank()),
        region_(std::move(region)),
        board_(world.make_epoch_board(set.buffers.size())),
        versions_(set.buffers.size(), 0) {
    expect(board_ != nullptr, "the shared store needs ranks that share memory");
    const auto storage = Storage::borrow(region_->bytes().data(), region_->bytes().size(), region_);
    std::size_t offset = 0;
    for (const FlatBuffer& buffer : set.buffers) {
      const std::int64_t numel = buffer.layout.buffer_numel();
      wholes_.push_back(Tensor::view(storage, offset, Shape{numel}, policy.param_dtype));
      labels_.push_back(group_label("all_gather", set, buffer.group));
      offset += wholes_.back().nbytes();
      const std::int64_t piece = buffer.layout.piece_numel();
      const Tensor mine = wholes_.back().slice(rank_ * piece, piece);
      const bool same = policy.param_dtype == policy.master_dtype;
      masters_.push_back(same ? mine : Tensor::zeros(Shape{piece}, policy.master_dtype));
      computes_.push_back(same ? Tensor() : mine);
    }
  }

  std::int64_t first(std::size_t buffer) const override {
    return rank_ * set_.buffers[buffer].layout.piece_numel();
  }
  void unshard(std::size_t) override {}
  Tensor whole(std::size_t buffer) override {
    board_->wait_all(buffer, versions_[buffer], labels_[buffer].c_str());
    return wholes_[buffer];
  }
  void reshard(std::size_t) override {}
  void publish(std::size_t buffer) override { board_->post(buffer, ++versions_[buffer]); }

 private:
  const GroupSet& set_;
  int rank_;
  std::shared_ptr<comm::SharedRegion> region_;
  std::unique_ptr<comm::EpochBoard> board_;
  std::vector<std::uint64_t> versions_;
  std::vector<std::string> labels_;
  std::vector<Tensor> wholes_;
};

}  // namespace

std::size_t shared_store_bytes(const GroupSet& set, const MixedPrecisionPolicy& policy) {
  std::size_t bytes = 0;
  for (const FlatBuffer& buffer : set.buffers) {
    bytes += static_cast<std::size_t>(buffer.layout.buffer_numel()) * size_of(policy.param_dtype);
  }
  return bytes;
}

std::unique_ptr<ParameterStore> make_shared_store(const GroupSet& set,
                                                  const MixedPrecisionPolicy& policy,
                                                  comm::Communicator& world,
                                                  std::unique_ptr<comm::SharedRegion> region) {
  return std::make_unique<SharedStore>(set, policy, world, std::move(region));
}

}  // namespace sherd::fsdp
