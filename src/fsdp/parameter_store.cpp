// What the four stores share, and which of them a plan asks for.
#include "fsdp/parameter_store.hpp"

namespace sherd::fsdp {

void ParameterStore::add_private(const FlatBuffer& buffer) {
  const Shape mine{held(buffer, plan_.cut, at_).numel};
  masters_.push_back(plan_.allocate(plan_.options.offload.params, mine, buffer.master));
  computes_.push_back(buffer.rounded() ? Tensor::zeros(mine, buffer.compute, plan_.where)
                                       : Tensor());
}

void ParameterStore::count(LinkLevel level, std::size_t buffer) {
  const FlatBuffer& flat = set_.buffers[buffer];
  const auto piece = static_cast<std::size_t>(flat.layout.piece_numel()) * size_of(flat.compute);
  if (level == LinkLevel::cross) {
    traffic_.add(level, Collective::all_gather, at_.nodes, piece);
  } else {
    traffic_.add(level, Collective::all_gather, at_.local_size,
                 piece * static_cast<std::size_t>(at_.nodes));
  }
}

std::size_t ParameterStore::total_bytes(const std::vector<Tensor>& tensors) {
  std::size_t sum = 0;
  for (const Tensor& tensor : tensors) {
    sum += tensor.defined() ? tensor.nbytes() : 0;
  }
  return sum;
}

std::unique_ptr<ParameterStore> make_parameter_store(const GroupSet& set, const StatePlan& plan,
                                                     LevelComms& comms, TrafficReport& traffic) {
  switch (plan.gather) {
    case GatherKind::whole:
      return make_whole_store(set, plan, comms.position(), traffic);
    case GatherKind::resident:
      return make_resident_store(set, plan, comms, traffic);
    case GatherKind::ring:
      return make_ring_store(set, plan, comms, traffic);
    case GatherKind::separate:
      break;
  }
  return make_separate_store(set, plan, comms, traffic);
}

}  // namespace sherd::fsdp
