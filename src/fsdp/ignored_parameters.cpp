#include "fsdp/ignored_parameters.hpp"

#include "sherd/nn/init.hpp"

namespace sherd::fsdp {
namespace {

Tensor first_values(const nn::NamedParameter& parameter, const StatePlan& plan) {
  const FullyShardOptions& options = plan.options;
  const Shape shape = parameter.value.shape();
  const DType declared = parameter.value.dtype();
  const bool floating = is_floating(declared);
  const Tensor exact =
      Tensor::zeros(Shape{shape.numel()}, floating ? plan.policy().master_dtype : declared);
  if (options.load) {
    options.load(parameter.name, 0, exact);
  } else {
    nn::fill_initial(parameter.init, options.seed, parameter.name, 0, exact);
  }
  const Tensor values = floating ? to_dtype(exact, plan.policy().param_dtype) : exact;
  const Tensor shaped = values.reshape(shape);
  return plan.where == MemoryKind::device ? to_device(shaped) : shaped;
}

}  // namespace

IgnoredParameters::IgnoredParameters(const GroupSet& set, const StatePlan& plan) {
  for (const IgnoredParameter& ignored : set.ignored) {
    Entry entry{ignored.parameter, ignored.all_reduce, {}};
    nn::Variable value = entry.parameter.value;
    if (value.data().is_meta()) {
      value.set_data(first_values(entry.parameter, plan));
    }
    if (value.requires_grad()) {
      entry.gradient = Tensor::zeros(value.shape(), plan.policy().master_dtype, plan.where);
      value.set_grad_buffer(entry.gradient);
    }
    entries_.push_back(std::move(entry));
  }
}

void IgnoredParameters::reduce(comm::Communicator& world, LevelComms& levels) const {
  const auto sum = [](comm::Communicator& comm, const Tensor& gradient) {
    comm.all_reduce(gradient.raw(), gradient.raw(), static_cast<std::size_t>(gradient.numel()),
                    gradient.dtype(), comm::ReduceOp::sum)
        .wait();
  };
  for (const Entry& entry : entries_) {
    if (!entry.all_reduce || !entry.gradient.defined()) {
      continue;
    }
    nn::Variable value = entry.parameter.value;
    if (!value.grad_written()) {
      entry.gradient.fill_zero();
    }
    if (entry.gradient.is_on_device()) {
      sum(*levels.local, entry.gradient);
      sum(*levels.cross, entry.gradient);
    } else {
      sum(world, entry.gradient);
    }
    value.set_grad_buffer(entry.gradient, true);
  }
}

void IgnoredParameters::zero() const {
  for (const Entry& entry : entries_) {
    nn::Variable value = entry.parameter.value;
    if (entry.gradient.defined()) {
      value.set_grad_buffer(entry.gradient, false);
    }
  }
}

std::size_t IgnoredParameters::bytes() const {
  std::size_t sum = 0;
  for (const Entry& entry : entries_) {
    sum += entry.parameter.value.data().nbytes();
    sum += entry.gradient.defined() ? entry.gradient.nbytes() : 0;
  }
  return sum;
}

std::vector<nn::NamedParameter> IgnoredParameters::named() const {
  std::vector<nn::NamedParameter> names;
  for (const Entry& entry : entries_) {
    names.push_back(entry.parameter);
  }
  return names;
}

}  // namespace sherd::fsdp
