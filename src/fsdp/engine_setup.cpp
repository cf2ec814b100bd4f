// Engine: laying a module out over the ranks: memory, first values, hooks; and laying it out anew.
#include <algorithm>
#include <utility>

#include "fsdp/engine.hpp"
#include "fsdp/redistribute.hpp"
#include "fsdp/same_everywhere.hpp"
#include "sherd/base/check.hpp"
#include "sherd/nn/init.hpp"
#include "sherd/runtime/device.hpp"

namespace sherd::fsdp {
namespace {

std::shared_ptr<runtime::Device> device_of_thread() {
  runtime::Device* device = runtime::current_device();
  return device == nullptr ? nullptr : device->shared_from_this();
}

/// Whether the ranks of a node share memory. Collective.
bool share_memory(comm::Communicator& local) { return local.make_epoch_board(1) != nullptr; }

}  // namespace

Engine::Engine(std::shared_ptr<nn::Module> module, comm::MeshComms& comms,
               FullyShardOptions options)
    : module_(std::move(module)),
      mesh_(comms.mesh),
      world_(comms.world->duplicate()),
      device_(device_of_thread()),
      gather_(duplicate_levels(comms, where())),
      reduce_(duplicate_levels(comms, where())) {
  const bool shared = share_memory(*gather_.local);
  validate(where() == MemoryKind::host || !options.offload.params,
           "offload_params on a device is not supported yet (masters are updated where they are). "
           "Try: offload_params: false, or more ranks");
  lay_out(std::move(options), shared);
  std::vector<int> numbers;
  for (int piece = 0; piece < plan_.ranks(); ++piece) {
    numbers.push_back(mesh_.owner(piece));
  }
  history_.emplace(*world_, set_, std::move(numbers));
  initialise();
  make_shards();
  install_hooks();
}

Engine::~Engine() { remove_hooks(); }

/// Cuts the module as its parameters are now and gives every part memory.
void Engine::lay_out(FullyShardOptions options, bool shared) {
  reducer_.reset();
  store_.reset();
  const Position at = gather_.position();
  set_ = make_groups(*module_, options, at.ranks());
  plan_ = make_state_plan(set_, options, at.nodes, at.local_size, shared, where());
  require_same_everywhere(*world_, mesh_, describe(set_, plan_, plan_.options));
  const std::size_t groups = set_.groups.size();
  order_ = PrefetchOrder(groups);
  whole_gradients_.assign(set_.buffers.size(), {});
  states_.assign(groups, {});
  store_ = make_parameter_store(set_, plan_, gather_, traffic_);
  reducer_ = make_gradient_reducer(set_, plan_, reduce_, traffic_);
  ignored_ = IgnoredParameters(set_, plan_);
}

void Engine::initialise() {
  for (std::size_t b = 0; b < set_.buffers.size(); ++b) {
    const FlatBuffer& buffer = set_.buffers[b];
    const Tensor& master = store_->master(b);
    for (const SlotOverlap& part : buffer.layout.overlaps(store_->range(b).first, master.numel())) {
      const nn::NamedParameter& parameter = buffer.parameters[part.slot];
      const Tensor place = master.slice(part.piece_begin, part.count);
      const Tensor out = place.is_on_device() ? Tensor::zeros(place.shape(), place.dtype()) : place;
      if (plan_.options.load) {
        plan_.options.load(parameter.name, part.parameter_begin, out);
      } else {
        nn::fill_initial(parameter.init, plan_.options.seed, parameter.name, part.parameter_begin,
                         out);
      }
      if (place.is_on_device()) {
        copy(out, place);
      }
    }
  }
  parameters_changed();
  withdraw_all();
}

void Engine::make_shards() {
  shards_.clear();
  buffer_of_shard_.clear();
  for (std::size_t b = 0; b < set_.buffers.size(); ++b) {
    if (!set_.buffers[b].trainable) {
      continue;
    }
    ParameterShard shard{store_->master(b), reducer_->main(b), store_->compute(b), {}};
    for (const dtensor::DTensor& tensor : tensors_of(b)) {
      const ParameterSlot& slot = *std::find_if(
          set_.buffers[b].layout.slots().begin(), set_.buffers[b].layout.slots().end(),
          [&](const ParameterSlot& candidate) { return candidate.name == tensor.spec.name; });
      shard.segments.push_back({tensor.spec.name, tensor.spec.global_shape, tensor.spec.offset,
                                slot.offset + tensor.spec.offset - store_->range(b).first,
                                tensor.spec.numel, plan_.placement(), tensor.spec.aliases});
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

void Engine::remove_hooks() {
  for (const Group& group : set_.groups) {
    group.module->set_hooks({});
  }
}

void Engine::set_requires_grad(const std::function<bool(const std::string& name)>& wanted) {
  reducer_->finish_all();
  store_->finish();
  zero_grad();
  world_->barrier();
  const dtensor::StateDict before = state_dict();
  remove_hooks();
  std::vector<nn::NamedParameter> parameters = nn::named_parameters(*module_);
  for (nn::NamedParameter& parameter : parameters) {
    nn::Variable& value = parameter.value;
    if (is_floating(value.dtype())) {
      value.set_requires_grad(wanted(parameter.name));
    }
  }
  lay_out(plan_.options, plan_.shared);  // the old parts live on in `before`
  make_shards();
  redistribute(before, state_dict(), *world_);
  parameters_changed();
  withdraw_all();
  install_hooks();
}

}  // namespace sherd::fsdp
