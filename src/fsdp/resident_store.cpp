// The store where a node's ranks hold every buffer whole between them, in memory they share.
#include <utility>

#include "fsdp/parameter_store.hpp"
#include "fsdp/slot_audit.hpp"
#include "sherd/base/check.hpp"

namespace sherd::fsdp {
namespace {

/// The board's slot b counts the updates of buffer b, rank by rank of the node; a rank counts one
/// when its share of the buffer, from all nodes, is there. A gather waits until every rank's count
/// has reached this rank's own: all ranks make the same updates in the same order.
///
/// Nothing says that a reader has finished. It need not: the next value of an update is written
/// only behind Engine::begin_update(), which no rank passes before all have read for the last time.
class ResidentStore : public ParameterStore {
 public:
  ResidentStore(const GroupSet& set, const StatePlan& plan, LevelComms& comms,
                TrafficReport& traffic)
      : ParameterStore(set, plan, comms.position(), traffic),
        comms_(comms),
        region_(comms.local->allocate_shared(region_bytes(set))),
        board_(comms.local->make_epoch_board(set.buffers.size())),
        versions_(set.buffers.size(), 0),
        arrivals_(set.buffers.size()),
        arriving_(set.buffers.size(), false) {
    expect(region_ != nullptr && board_ != nullptr, "this store needs ranks that share memory");
    const auto storage = Storage::borrow(region_->bytes().data(), region_->bytes().size(), region_);
    std::size_t offset = 0;
    for (const FlatBuffer& buffer : set.buffers) {
      wholes_.push_back(Tensor::view(storage, offset, Shape{buffer.numel()}, buffer.compute));
      labels_.push_back(group_label("all_gather", set, buffer.group));
      offset += buffer.compute_bytes();
      const Range mine = held(buffer, plan.cut, at_);
      const Tensor place = wholes_.back().slice(mine.first, mine.numel);
      masters_.push_back(buffer.rounded() ? plan.allocate(plan.options.offload.params,
                                                          Shape{mine.numel}, buffer.master)
                                          : place);
      computes_.push_back(buffer.rounded() ? place : Tensor());
    }
  }
  ~ResidentStore() override = default;

  void unshard(std::size_t group) override {
    for (const std::size_t b : set_.groups[group].buffers) {
      count(LinkLevel::node, b);
    }
  }

  Tensor whole(std::size_t buffer) override {
    settle(buffer);  // first: the other ranks of the node wait for this rank's share, too
    board_->wait_all(buffer, versions_[buffer], labels_[buffer].c_str());
    audit_begin(Access::read, wholes_[buffer]);
    return wholes_[buffer];
  }

  bool ready(std::size_t group) override {
    poll();
    bool all = true;
    for (const std::size_t b : set_.groups[group].buffers) {
      all = all && board_->test_all(b, versions_[b]);
    }
    return all;
  }

  void reshard(std::size_t group) override {
    for (const std::size_t b : set_.groups[group].buffers) {
      audit_end(Access::read, wholes_[b]);
    }
  }

  void publish(std::size_t buffer) override {
    settle(buffer);  // posts the update before under its own number
    ++versions_[buffer];
    if (!plan_.gathers_across()) {  // the optimizer has written into the node's memory itself
      board_->post(buffer, versions_[buffer]);
      return;
    }
    const Tensor& mine = source(buffer);
    const Range block = held(set_.buffers[buffer], Level::node, at_);
    arrivals_[buffer] =
        comms_.cross->all_gather(mine.raw(), wholes_[buffer].slice(block.first, block.numel).raw(),
                                 static_cast<std::size_t>(mine.numel()), mine.dtype());
    arriving_[buffer] = true;
    count(LinkLevel::cross, buffer);
  }

  void poll() override {
    for (std::size_t b = 0; b < arrivals_.size(); ++b) {
      if (arriving_[b] && arrivals_[b].test()) {
        settle(b);
      }
    }
  }

  void finish() override {
    for (std::size_t b = 0; b < arrivals_.size(); ++b) {
      settle(b);
    }
  }

  std::size_t slot_bytes() const override {
    std::size_t mine = 0;
    for (std::size_t b = 0; b < set_.buffers.size(); ++b) {
      mine += source(b).nbytes();
    }
    return region_->bytes().size() / static_cast<std::size_t>(at_.local_size) - mine;
  }

 private:
  static std::size_t region_bytes(const GroupSet& set) {
    std::size_t bytes = 0;
    for (const FlatBuffer& buffer : set.buffers) {
      bytes += buffer.compute_bytes();
    }
    return bytes;
  }

  /// Ends a buffer's way from the other nodes and tells the node.
  void settle(std::size_t buffer) {
    if (arriving_[buffer]) {
      arrivals_[buffer].wait();
      arriving_[buffer] = false;
      board_->post(buffer, versions_[buffer]);
    }
  }

  LevelComms& comms_;
  std::shared_ptr<comm::SharedRegion> region_;
  std::unique_ptr<comm::EpochBoard> board_;
  std::vector<std::uint64_t> versions_;  // by buffer
  std::vector<comm::Work> arrivals_;     // by buffer
  std::vector<bool> arriving_;           // by buffer
  std::vector<std::string> labels_;
  std::vector<Tensor> wholes_;
};

}  // namespace

std::unique_ptr<ParameterStore> make_resident_store(const GroupSet& set, const StatePlan& plan,
                                                    LevelComms& comms, TrafficReport& traffic) {
  return std::make_unique<ResidentStore>(set, plan, comms, traffic);
}

}  // namespace sherd::fsdp
