// Engine: what it tells about itself: state, bytes, groups, plan.
#include <algorithm>
#include <utility>

#include "fsdp/describe_plan.hpp"
#include "fsdp/engine.hpp"

namespace sherd::fsdp {

std::vector<dtensor::DTensor> Engine::tensors_of(std::size_t b) const {
  const FlatBuffer& buffer = set_.buffers[b];
  const Tensor& master = store_->master(b);
  const dtensor::Placement placement = plan_.placement();
  const auto parts = buffer.layout.overlaps(store_->range(b).first, master.numel());
  std::vector<dtensor::DTensor> tensors;
  for (std::size_t i = 0; i < buffer.parameters.size(); ++i) {
    const auto part = std::find_if(parts.begin(), parts.end(),
                                   [&](const SlotOverlap& overlap) { return overlap.slot == i; });
    const bool here = part != parts.end();
    dtensor::ShardSpec spec{buffer.parameters[i].name,
                            buffer.layout.slots()[i].shape,
                            master.dtype(),
                            placement,
                            here ? part->parameter_begin : 0,
                            here ? part->count : 0,
                            buffer.trainable,
                            buffer.parameters[i].aliases};
    tensors.push_back({std::move(spec),
                       here ? master.slice(part->piece_begin, part->count) : master.slice(0, 0)});
  }
  return tensors;
}

dtensor::StateDict Engine::state_dict() const {
  dtensor::StateDict state;
  for (std::size_t b = 0; b < set_.buffers.size(); ++b) {
    for (dtensor::DTensor& tensor : tensors_of(b)) {
      state.tensors.emplace("model." + tensor.spec.name, std::move(tensor));
    }
  }
  return state;
}

std::vector<nn::NamedParameter> Engine::ignored_parameters() const { return ignored_.named(); }

MemoryReport Engine::memory() const {
  return {.parameters = store_->master_bytes(),
          .compute_parameters = store_->compute_bytes(),
          .gradients = reducer_->main_bytes(),
          .partial_gradients = reducer_->partial_bytes(),
          .optimizer_state = 0,
          .gather_slots = store_->slot_bytes(),
          .reduction_slots = reducer_->slot_bytes(),
          .cross_slots = reducer_->cross_bytes(),
          .ignored = ignored_.bytes()};
}

ShardingPlan Engine::plan(int micro_batches) const {
  return describe_plan(set_, plan_, 0, micro_batches);
}

std::vector<GroupReport> Engine::groups() const { return group_reports(set_); }

}  // namespace sherd::fsdp
