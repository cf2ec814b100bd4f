#include "fsdp/parameter_store.hpp"

namespace sherd::fsdp {
namespace {

constexpr std::size_t kNoGroup = static_cast<std::size_t>(-1);

/// What a slot of the ring holds: the buffers of one group, gathered or on their way.
struct GatherSlot {
  Tensor memory;
  std::size_t group = kNoGroup;
  std::uint64_t version = 0;
  std::vector<comm::Work> works;  // one a buffer, while on their way
};

class GatherStore : public ParameterStore {
 public:
  GatherStore(const GroupSet& set, const MixedPrecisionPolicy& policy, comm::Communicator& world,
              std::size_t ring)
      : set_(set), policy_(policy), world_(world), ring_(ring), versions_(set.groups.size(), 0) {
    for (const FlatBuffer& buffer : set.buffers) {
      add_private_piece(buffer.layout.piece_numel(), policy);
    }
    for (const std::int64_t numel : ring_slot_numel(set, ring, false)) {
      slots_.push_back({Tensor::zeros(Shape{numel}, policy.param_dtype), kNoGroup, 0, {}});
    }
  }

  std::int64_t first(std::size_t buffer) const override {
    return world_.rank() * set_.buffers[buffer].layout.piece_numel();
  }

  void unshard(std::size_t group) override {
    GatherSlot& slot = slots_[ring_slot(group, ring_)];
    if (slot.group == group && slot.version == versions_[group]) {
      return;
    }
    finish(slot);  // a gather nobody waited for: its result is thrown away
    slot.group = group;
    slot.version = versions_[group];
    for (const std::size_t b : set_.groups[group].buffers) {
      const Tensor& source = computes_[b].defined() ? computes_[b] : masters_[b];
      slot.works.push_back(world_.all_gather(source.raw(), place(slot, b).raw(),
                                             static_cast<std::size_t>(source.numel()),
                                             policy_.param_dtype));
    }
  }

  Tensor whole(std::size_t buffer) override {
    const std::size_t group = set_.buffers[buffer].group;
    unshard(group);
    GatherSlot& slot = slots_[ring_slot(group, ring_)];
    finish(slot);
    return place(slot, buffer);
  }

  void reshard(std::size_t group) override {
    GatherSlot& slot = slots_[ring_slot(group, ring_)];
    if (slot.group == group) {
      finish(slot);
      slot.group = kNoGroup;
    }
  }

  bool share_slot(std::size_t a, std::size_t b) const override {
    return ring_slot(a, ring_) == ring_slot(b, ring_);
  }

  void publish(std::size_t buffer) override { ++versions_[set_.buffers[buffer].group]; }

  std::size_t gather_slot_bytes() const override {
    std::size_t sum = 0;
    for (const GatherSlot& slot : slots_) {
      sum += slot.memory.nbytes();
    }
    return sum;
  }

 private:
  static void finish(GatherSlot& slot) {
    for (comm::Work& work : slot.works) {
      work.wait();
    }
    slot.works.clear();
  }

  Tensor place(const GatherSlot& slot, std::size_t buffer) const {
    std::int64_t begin = 0;
    for (const std::size_t b : set_.groups[set_.buffers[buffer].group].buffers) {
      if (b == buffer) {
        break;
      }
      begin += set_.buffers[b].layout.buffer_numel();
    }
    return slot.memory.slice(begin, set_.buffers[buffer].layout.buffer_numel());
  }

  const GroupSet& set_;
  MixedPrecisionPolicy policy_;
  comm::Communicator& world_;
  std::size_t ring_;
  std::vector<std::uint64_t> versions_;  // by group
  std::vector<GatherSlot> slots_;
};

}  // namespace

std::unique_ptr<ParameterStore> make_gather_store(const GroupSet& set,
                                                  const MixedPrecisionPolicy& policy,
                                                  comm::Communicator& world, std::size_t ring) {
  return std::make_unique<GatherStore>(set, policy, world, ring);
}

}  // namespace sherd::fsdp
