// The store where groups take turns in slots of each rank's own.
#include <utility>

#include "fsdp/parameter_store.hpp"
#include "fsdp/slot_audit.hpp"

namespace sherd::fsdp {
namespace {

/// What a slot holds: the buffers of one group, gathered or on their way.
struct GatherSlot {
  std::shared_ptr<Storage> memory;
  std::size_t group = kNoGroup;
  std::uint64_t version = 0;
  bool across = false;            // the works under way are those between nodes
  std::vector<comm::Work> works;  // one a buffer, while on their way
};

/// Two steps a gather: this rank's share from the other nodes, then all shares of the node. Where
/// the share stays (keep_blocks) or is what a rank holds anyway, the first step is left out.
class SeparateStore : public ParameterStore {
 public:
  SeparateStore(const GroupSet& set, const StatePlan& plan, LevelComms& comms,
                TrafficReport& traffic)
      : ParameterStore(set, plan, comms.position(), traffic),
        comms_(comms),
        versions_(set.groups.size(), 0),
        block_works_(set.buffers.size()) {
    for (const FlatBuffer& buffer : set.buffers) {
      add_private(buffer);
      const Range block = held(buffer, Level::node, at_);
      blocks_.push_back(plan.keep_blocks
                            ? Tensor::zeros(Shape{block.numel}, buffer.compute, plan.where)
                            : Tensor());
    }
    for (const std::size_t bytes : gather_slot_bytes(set, plan.gather_ring)) {
      slots_.emplace_back();
      slots_.back().memory = Storage::allocate(bytes, plan.where);
    }
  }

  void unshard(std::size_t group) override {
    GatherSlot& slot = slot_of(group);
    if (slot.group == group && slot.version == versions_[group]) {
      return;
    }
    complete(slot);  // a gather nobody waited for: its result is thrown away
    slot.group = group;
    slot.version = versions_[group];
    slot.across = plan_.gathers_across() && !plan_.keep_blocks;
    for (const std::size_t b : set_.groups[group].buffers) {
      slot.works.push_back(slot.across ? gather_across(b, block_in(slot, b))
                                       : gather_inside(slot, b, block_of(b)));
    }
  }

  Tensor whole(std::size_t buffer) override {
    const std::size_t group = set_.buffers[buffer].group;
    unshard(group);  // another group may have taken the slot since, or an update made it old
    complete(slot_of(group));
    const Tensor whole = place(slot_of(group), buffer);
    audit_begin(Access::read, whole);
    return whole;
  }

  bool ready(std::size_t group) override {
    GatherSlot& slot = slot_of(group);
    bool all = slot.group == group && slot.version == versions_[group] && !slot.across;
    for (comm::Work& work : slot.works) {
      all = work.test() && all;
    }
    return all;
  }

  void reshard(std::size_t group) override {
    GatherSlot& slot = slot_of(group);
    if (slot.group == group) {
      complete(slot);
      for (const std::size_t b : set_.groups[group].buffers) {
        audit_end(Access::read, place(slot, b));
      }
      slot.group = kNoGroup;
    }
  }

  bool share_slot(std::size_t a, std::size_t b) const override {
    return ring_slot(a, plan_.gather_ring) == ring_slot(b, plan_.gather_ring);
  }

  void publish(std::size_t buffer) override {
    ++versions_[set_.buffers[buffer].group];
    if (plan_.keep_blocks) {
      block_works_[buffer].wait();  // it writes where the next one will
      block_works_[buffer] = gather_across(buffer, blocks_[buffer]);
    }
  }

  void poll() override {
    for (GatherSlot& slot : slots_) {
      for (comm::Work& work : slot.works) {
        static_cast<void>(work.test());
      }
    }
    for (comm::Work& work : block_works_) {
      static_cast<void>(work.test());
    }
  }

  void finish() override {
    for (GatherSlot& slot : slots_) {
      complete(slot);
    }
    for (comm::Work& work : block_works_) {
      work.wait();
    }
  }

  std::size_t slot_bytes() const override {
    std::size_t sum = 0;
    for (const GatherSlot& slot : slots_) {
      sum += slot.memory->size();
    }
    for (const Tensor& block : blocks_) {
      sum += block.defined() ? block.nbytes() : 0;
    }
    return sum;
  }

 private:
  GatherSlot& slot_of(std::size_t group) { return slots_[ring_slot(group, plan_.gather_ring)]; }

  Tensor place(const GatherSlot& slot, std::size_t buffer) const {
    const FlatBuffer& flat = set_.buffers[buffer];
    return Tensor::view(slot.memory, bytes_before(set_, buffer), Shape{flat.numel()}, flat.compute);
  }
  Tensor block_in(const GatherSlot& slot, std::size_t buffer) const {
    const Range block = held(set_.buffers[buffer], Level::node, at_);
    return place(slot, buffer).slice(block.first, block.numel);
  }
  /// This rank's share of the buffer where it is kept; waits for it.
  Tensor block_of(std::size_t buffer) {
    if (!plan_.keep_blocks) {
      return source(buffer);
    }
    block_works_[buffer].wait();
    return blocks_[buffer];
  }

  comm::Work gather_across(std::size_t buffer, const Tensor& block) {
    const Tensor& mine = source(buffer);
    count(LinkLevel::cross, buffer);
    return comms_.cross->all_gather(mine.raw(), block.raw(), static_cast<std::size_t>(mine.numel()),
                                    mine.dtype());
  }
  comm::Work gather_inside(const GatherSlot& slot, std::size_t buffer, const Tensor& block) {
    count(LinkLevel::node, buffer);
    return comms_.local->all_gather(block.raw(), place(slot, buffer).raw(),
                                    static_cast<std::size_t>(block.numel()), block.dtype());
  }

  /// Ends both steps. The second is begun only here, at a point all ranks come to in one order:
  /// where collectives block, a rank must not be caught in one that others are not at yet.
  void complete(GatherSlot& slot) {
    wait(slot);
    if (slot.across) {
      slot.across = false;
      for (const std::size_t b : set_.groups[slot.group].buffers) {
        slot.works.push_back(gather_inside(slot, b, block_in(slot, b)));
      }
      wait(slot);
    }
  }
  static void wait(GatherSlot& slot) {
    for (comm::Work& work : slot.works) {
      work.wait();
    }
    slot.works.clear();
  }

  LevelComms& comms_;
  std::vector<std::uint64_t> versions_;  // by group
  std::vector<Tensor> blocks_;           // by buffer
  std::vector<comm::Work> block_works_;  // by buffer
  std::vector<GatherSlot> slots_;
};

}  // namespace

std::unique_ptr<ParameterStore> make_separate_store(const GroupSet& set, const StatePlan& plan,
                                                    LevelComms& comms, TrafficReport& traffic) {
  return std::make_unique<SeparateStore>(set, plan, comms, traffic);
}

}  // namespace sherd::fsdp
