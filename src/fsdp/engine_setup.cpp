// Engine: making memory, first values and hooks, and what it tells about itself.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "fsdp/engine.hpp"
#include "sherd/base/check.hpp"
#include "sherd/nn/init.hpp"

namespace sherd::fsdp {
namespace {

void check_options(const FullyShardOptions& options) {
  const StrategyRow& strategy = row(options.strategy);
  static_cast<void>(parse_strategy(strategy.name));
  expect(options.prefetch_depth >= 0 && options.prefetch_depth <= 8,
         "prefetch_depth must be 0 to 8");
  const MixedPrecisionPolicy& policy = options.mixed_precision;
  const bool known = (policy.master_dtype == DType::f64 && policy.param_dtype == DType::f64) ||
                     (policy.master_dtype == DType::f32 &&
                      (policy.param_dtype == DType::f32 || policy.param_dtype == DType::bf16));
  validate(known,
           fmt::format("param_dtype {} with master_dtype {} is not in this version. Try: f32 "
                       "or bf16 over f32, f64 over f64",
                       to_string(policy.param_dtype), to_string(policy.master_dtype)));
}

}  // namespace

std::size_t gather_ring(const StrategyRow& row, int prefetch_depth, std::size_t groups) {
  const std::size_t blocks = std::max<std::size_t>(groups, 2) - 1;
  return row.keep_after_forward ? blocks
                                : std::min(blocks, static_cast<std::size_t>(prefetch_depth) + 1);
}

Engine::Engine(std::shared_ptr<nn::Module> module, comm::MeshComms& comms,
               FullyShardOptions options)
    : module_(std::move(module)),
      options_(std::move(options)),
      row_((check_options(options_), row(options_.strategy))),
      gather_comm_(comms.world->duplicate()),
      reduce_comm_(comms.world->duplicate()),
      set_(make_groups(*module_, options_, comms.world->size())),
      order_(set_.groups.size()),
      whole_gradients_(set_.buffers.size()),
      running_(set_.groups.size(), 0),
      pending_uses_(set_.groups.size(), 0),
      has_gradients_(set_.groups.size(), false),
      reduced_(set_.groups.size(), false),
      issued_(set_.groups.size(), false),
      unsharded_(set_.groups.size(), false) {
  make_storage();
  initialise();
  make_shards();
  install_hooks();
}

Engine::~Engine() {
  for (const Group& group : set_.groups) {
    group.module->set_hooks({});
  }
}

void Engine::make_storage() {
  const MixedPrecisionPolicy& policy = options_.mixed_precision;
  const int world = gather_comm_->size();
  const bool whole_parameters = row_.parameters == Level::whole || world == 1;
  const bool whole_gradients = row_.gradients == Level::whole || world == 1;
  if (whole_parameters) {
    store_ = make_whole_store(set_, policy);
  } else if (auto region = gather_comm_->allocate_shared(shared_store_bytes(set_, policy))) {
    store_ = make_shared_store(set_, policy, *gather_comm_, std::move(region));
  } else {
    store_ = make_gather_store(set_, policy, *gather_comm_,
                               gather_ring(row_, options_.prefetch_depth, set_.groups.size()));
  }
  const DType dtype = policy.master_dtype;
  const std::size_t slots = reduction_ring_bytes(set_, dtype, kReductionRing);
  if (whole_gradients) {
    reducer_ = make_whole_reducer(set_, dtype, *reduce_comm_);
  } else if (auto region = reduce_comm_->allocate_shared(slots * static_cast<std::size_t>(world))) {
    reducer_ = make_shared_reducer(set_, dtype, *reduce_comm_, kReductionRing, std::move(region));
  } else {
    reducer_ = make_collective_reducer(set_, dtype, *reduce_comm_, kReductionRing);
  }
}

void Engine::initialise() {
  for (std::size_t b = 0; b < set_.buffers.size(); ++b) {
    const FlatBuffer& buffer = set_.buffers[b];
    const Tensor& master = store_->master(b);
    for (const SlotOverlap& part : buffer.layout.overlaps(store_->first(b), master.numel())) {
      const nn::NamedParameter& parameter = buffer.parameters[part.slot];
      const Tensor out = master.slice(part.piece_begin, part.count);
      if (options_.load) {
        options_.load(parameter.name, part.parameter_begin, out);
      } else {
        nn::fill_initial(parameter.parameter.init, options_.seed, parameter.name,
                         part.parameter_begin, out);
      }
    }
  }
  parameters_changed();
  std::fill(unsharded_.begin(), unsharded_.end(), true);
  reshard_all();
}

void Engine::make_shards() {
  for (std::size_t b = 0; b < set_.buffers.size(); ++b) {
    if (!set_.buffers[b].trainable) {
      continue;
    }
    ParameterShard shard{store_->master(b), reducer_->main(b), store_->compute(b), {}};
    // Parameters may be whole where gradients are not cut the same way only in strategies to come.
    expect(shard.parameter.numel() == shard.gradient.numel(),
           "parameters and gradients of a buffer are cut differently");
    for (const dtensor::DTensor& tensor : tensors_of(b)) {
      const ParameterSlot& slot = *std::find_if(
          set_.buffers[b].layout.slots().begin(), set_.buffers[b].layout.slots().end(),
          [&](const ParameterSlot& candidate) { return candidate.name == tensor.spec.name; });
      shard.segments.push_back(
          {tensor.spec.name, tensor.spec.global_shape, tensor.spec.offset,
           slot.offset + tensor.spec.offset - store_->first(b), tensor.spec.numel,
           tensor.spec.placement == dtensor::Placement::replicated, tensor.spec.aliases});
    }
    shards_.push_back(std::move(shard));
    buffer_of_shard_.push_back(b);
  }
}

void Engine::install_hooks() {
  for (std::size_t g = 0; g < set_.groups.size(); ++g) {
    set_.groups[g].module->set_hooks(
        {[this, g](nn::Module&, const nn::Variable& x) { return before_forward(g, x); },
         [this, g](nn::Module&, const nn::Variable& y) { return after_forward(g, y); }});
  }
}

std::vector<dtensor::DTensor> Engine::tensors_of(std::size_t b) const {
  const FlatBuffer& buffer = set_.buffers[b];
  const Tensor& master = store_->master(b);
  const bool replicated = row_.parameters == Level::whole && gather_comm_->size() > 1;
  const auto parts = buffer.layout.overlaps(store_->first(b), master.numel());
  std::vector<dtensor::DTensor> tensors;
  for (std::size_t i = 0; i < buffer.parameters.size(); ++i) {
    const auto part = std::find_if(parts.begin(), parts.end(),
                                   [&](const SlotOverlap& overlap) { return overlap.slot == i; });
    const bool here = part != parts.end();
    dtensor::ShardSpec spec{
        buffer.parameters[i].name,
        buffer.layout.slots()[i].shape,
        master.dtype(),
        replicated ? dtensor::Placement::replicated : dtensor::Placement::sharded,
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

MemoryReport Engine::memory() const {
  return {.parameters = store_->master_bytes(),
          .compute_parameters = store_->compute_bytes(),
          .gradients = reducer_->main_bytes(),
          .optimizer_state = 0,
          .gather_slots = store_->gather_slot_bytes(),
          .reduction_slots = reducer_->slot_bytes()};
}

std::vector<GroupReport> group_reports(const GroupSet& set) {
  std::vector<GroupReport> reports;
  for (const Group& group : set.groups) {
    GroupReport report{group.name, 0, 0, 0};
    for (const std::size_t b : group.buffers) {
      report.parameters += set.buffers[b].layout.parameter_numel();
      report.buffer_numel += set.buffers[b].layout.buffer_numel();
      report.piece_numel += set.buffers[b].layout.piece_numel();
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

std::vector<GroupReport> Engine::groups() const { return group_reports(set_); }

}  // namespace sherd::fsdp
