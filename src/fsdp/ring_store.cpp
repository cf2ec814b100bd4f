// The store where groups take turns in slots that a node's ranks share.
#include <utility>

#include "fsdp/parameter_store.hpp"
#include "fsdp/slot_audit.hpp"
#include "sherd/base/check.hpp"

namespace sherd::fsdp {
namespace {

/// What a slot of the ring holds. Every use of a slot has a generation; the same on all ranks.
struct RingSlot {
  std::size_t offset = 0;  // in the node's block
  std::size_t group = kNoGroup;
  std::uint64_t version = 0;     // of the group's values
  std::uint64_t generation = 0;  // uses so far
  bool arriving = false;         // this rank's share is on its way
  bool given_back = true;        // by this rank, in this generation
  std::vector<comm::Work> works;
};

/// A use of a slot, generation g, is on each rank
///
///   give back    generation g-1, which this rank has held: board slot [slots + index] = g-1
///   wait         until all ranks of the node have given g-1 back: now nobody reads the slot
///   fetch        this rank's share of the group from the other nodes, in the background
///   arrive       the share is there: board slot [index] = g
///   wait         until all shares of g are there: now the slot may be read
///
/// A rank posts its own give back or arrival before it waits for those of the others, and arrivals
/// in other slots are posted by poll(), which is called inside waits: no two ranks wait for each
/// other.
class RingStore : public ParameterStore {
 public:
  RingStore(const GroupSet& set, const StatePlan& plan, LevelComms& comms, TrafficReport& traffic)
      : ParameterStore(set, plan, comms.position(), traffic),
        comms_(comms),
        versions_(set.groups.size(), 0) {
    std::size_t bytes = 0;
    for (const std::size_t needed : gather_slot_bytes(set, plan.gather_ring)) {
      slots_.emplace_back();
      slots_.back().offset = bytes;
      bytes += needed;
    }
    region_ = comms.local->allocate_shared(bytes);
    board_ = comms.local->make_epoch_board(2 * slots_.size());
    expect(region_ != nullptr && board_ != nullptr, "this store needs ranks that share memory");
    storage_ = Storage::borrow(region_->bytes().data(), region_->bytes().size(), region_);
    for (std::size_t g = 0; g < set.groups.size(); ++g) {
      labels_.push_back(group_label("all_gather", set, g));
    }
    for (const FlatBuffer& buffer : set.buffers) {
      add_private(buffer);
    }
  }

  void unshard(std::size_t group) override {
    RingSlot& slot = slot_of(group);
    if (slot.group == group && slot.version == versions_[group]) {
      return;
    }
    give_back(slot);
    const std::size_t index = ring_slot(group, plan_.gather_ring);
    board_->wait_all(slots_.size() + index, slot.generation, labels_[group].c_str());
    ++slot.generation;
    slot.group = group;
    slot.version = versions_[group];
    slot.given_back = false;
    for (const std::size_t b : set_.groups[group].buffers) {
      fetch(slot, b);
    }
    slot.arriving = true;  // only now: poll() may run inside a collective that blocks
  }

  Tensor whole(std::size_t buffer) override {
    const std::size_t group = set_.buffers[buffer].group;
    unshard(group);  // another group may have taken the slot since, or an update made it old
    RingSlot& slot = slot_of(group);
    arrive(slot);
    board_->wait_all(ring_slot(group, plan_.gather_ring), slot.generation, labels_[group].c_str());
    const Tensor whole = place(slot, buffer);
    audit_begin(Access::read, whole);
    return whole;
  }

  bool ready(std::size_t group) override {
    poll();
    const RingSlot& slot = slot_of(group);
    return slot.group == group && slot.version == versions_[group] && !slot.arriving &&
           board_->test_all(index_of(slot), slot.generation);
  }

  void reshard(std::size_t group) override {
    RingSlot& slot = slot_of(group);
    if (slot.group == group) {
      give_back(slot);
    }
  }

  bool share_slot(std::size_t a, std::size_t b) const override {
    return ring_slot(a, plan_.gather_ring) == ring_slot(b, plan_.gather_ring);
  }

  void publish(std::size_t buffer) override { ++versions_[set_.buffers[buffer].group]; }

  void poll() override {
    for (RingSlot& slot : slots_) {
      bool all = slot.arriving;
      for (comm::Work& work : slot.works) {
        all = work.test() && all;
      }
      if (all) {
        arrive(slot);
      }
    }
  }

  void finish() override {
    for (RingSlot& slot : slots_) {
      arrive(slot);
    }
  }

  std::size_t slot_bytes() const override {
    return region_->bytes().size() / static_cast<std::size_t>(at_.local_size);
  }

 private:
  RingSlot& slot_of(std::size_t group) { return slots_[ring_slot(group, plan_.gather_ring)]; }
  std::size_t index_of(const RingSlot& slot) const {
    return static_cast<std::size_t>(&slot - slots_.data());
  }

  Tensor place(const RingSlot& slot, std::size_t buffer) const {
    const FlatBuffer& flat = set_.buffers[buffer];
    return Tensor::view(storage_, slot.offset + bytes_before(set_, buffer), Shape{flat.numel()},
                        flat.compute);
  }

  /// Starts to bring this rank's share of a buffer from all nodes.
  void fetch(RingSlot& slot, std::size_t buffer) {
    const Tensor& mine = source(buffer);
    const Range block = held(set_.buffers[buffer], Level::node, at_);
    slot.works.push_back(comms_.cross->all_gather(
        mine.raw(), place(slot, buffer).slice(block.first, block.numel).raw(),
        static_cast<std::size_t>(mine.numel()), mine.dtype()));
    count(LinkLevel::cross, buffer);
    count(LinkLevel::node, buffer);
  }

  void arrive(RingSlot& slot) {
    if (slot.arriving) {
      for (comm::Work& work : slot.works) {
        work.wait();
      }
      slot.works.clear();
      slot.arriving = false;
      board_->post(index_of(slot), slot.generation);
    }
  }

  /// A gather nobody waited for is brought to its end first: its bytes would still land in a slot
  /// that peers take for free. All ranks have issued it, so it ends.
  void give_back(RingSlot& slot) {
    arrive(slot);
    if (!slot.given_back) {
      for (const std::size_t b : set_.groups[slot.group].buffers) {
        audit_end(Access::read, place(slot, b));
      }
      slot.given_back = true;
      slot.group = kNoGroup;
      board_->post(slots_.size() + index_of(slot), slot.generation);
    }
  }

  LevelComms& comms_;
  std::vector<std::uint64_t> versions_;  // by group
  std::vector<RingSlot> slots_;
  std::shared_ptr<comm::SharedRegion> region_;
  std::unique_ptr<comm::EpochBoard> board_;
  std::shared_ptr<Storage> storage_;
  std::vector<std::string> labels_;  // by group
};

}  // namespace

std::unique_ptr<ParameterStore> make_ring_store(const GroupSet& set, const StatePlan& plan,
                                                LevelComms& comms, TrafficReport& traffic) {
  return std::make_unique<RingStore>(set, plan, comms, traffic);
}

}  // namespace sherd::fsdp
