#include "sherd/nn/module.hpp"

#include <algorithm>
#include <unordered_map>

#include "sherd/base/check.hpp"

namespace sherd::nn {
namespace {

std::string join(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

/// Collects parameters depth first and remembers which shared variables it has seen.
class ParameterCollector {
 public:
  void visit(const Module& module, const std::string& prefix) {
    for (const auto& [name, parameter] : module.parameters()) {
      add(join(prefix, name), parameter);
    }
    for (const auto& [name, child] : module.children()) {
      visit(*child, join(prefix, name));
    }
  }
  [[nodiscard]] std::vector<NamedParameter> take() { return std::move(found_); }

 private:
  void add(std::string name, const Parameter& parameter) {
    const auto [place, fresh] = seen_.try_emplace(parameter.value.identity(), found_.size());
    if (fresh) {
      found_.push_back({std::move(name), parameter.value, parameter.init, {}});
    } else {
      found_[place->second].aliases.push_back(std::move(name));
    }
  }

  std::vector<NamedParameter> found_;
  std::unordered_map<const void*, std::size_t> seen_;
};

void collect_modules(Module& module, const std::string& prefix,
                     std::vector<std::pair<std::string, Module*>>& into) {
  into.emplace_back(prefix, &module);
  for (const auto& [name, child] : module.children()) {
    collect_modules(*child, join(prefix, name), into);
  }
}

}  // namespace

Variable Module::operator()(const Variable& input) {
  Variable output = forward(hooks_.before ? hooks_.before(*this, input) : input);
  return hooks_.after ? hooks_.after(*this, output) : output;
}

Variable Module::register_parameter(std::string name, Shape shape, InitSpec init, DType dtype) {
  expect(is_floating(dtype) || init.kind == InitSpec::Kind::zeros,
         "a parameter of a non-floating type starts as zeros. Try: InitSpec::zeros(), and load it");
  Variable value(Tensor::meta(std::move(shape), dtype), is_floating(dtype));
  register_shared(std::move(name), value, init);
  return value;
}

void Module::register_shared(std::string name, const Variable& value, InitSpec init) {
  expect(value.defined() && value.is_leaf(), "a parameter must be a leaf Variable");
  expect(!name.empty() && name.find('.') == std::string::npos,
         "a parameter's local name must be non-empty and without dots (dots join module names)");
  const bool taken = std::any_of(parameters_.begin(), parameters_.end(),
                                 [&](const auto& entry) { return entry.first == name; });
  expect(!taken, "the module already has a parameter of this name");
  parameters_.emplace_back(std::move(name), Parameter{value, init});
}

void ModuleList::push_back(std::shared_ptr<Module> module) {
  register_module(std::to_string(size()), std::move(module));
}

Variable ModuleList::forward(const Variable& input) {
  Variable x = input;
  for (const auto& child : children()) {
    x = (*child.second)(x);
  }
  return x;
}

std::vector<NamedParameter> named_parameters(const Module& root) {
  ParameterCollector collector;
  collector.visit(root, "");
  return collector.take();
}

std::vector<std::pair<std::string, Module*>> named_modules(Module& root) {
  std::vector<std::pair<std::string, Module*>> modules;
  collect_modules(root, "", modules);
  return modules;
}

void materialize(const Module& root, std::uint64_t seed, DType dtype) {
  for (NamedParameter& named : named_parameters(root)) {
    Variable& value = named.value;
    const DType wanted = is_floating(value.dtype()) ? dtype : value.dtype();
    const bool narrow = wanted == DType::f16 || wanted == DType::bf16;
    const Tensor exact = Tensor::empty(value.shape(), narrow ? DType::f32 : wanted);
    fill_initial(named.init, seed, named.name, 0, exact.reshape({exact.numel()}));
    value.set_data(narrow ? to_dtype(exact, wanted) : exact);
  }
}

}  // namespace sherd::nn
