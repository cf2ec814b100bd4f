#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sherd/autograd/variable.hpp"
#include "sherd/nn/init.hpp"

namespace sherd::nn {

using autograd::Variable;

/// A parameter as a module declares it: shape and initial values, no memory (its Variable holds a
/// meta tensor) until fully_shard or materialize() gives it some.
struct Parameter {
  Variable value;
  InitSpec init;
};

class Module;

/// What an engine hangs on a module; called around every forward. Local.
struct ForwardHooks {
  /// Before forward; may replace the input (to hang a node on it).
  std::function<Variable(Module&, const Variable&)> before;
  /// After forward; may replace the output.
  std::function<Variable(Module&, const Variable&)> after;
};

/// A named tree of parameters with a forward. Subclass, register parameters and children in the
/// constructor, write forward(). Call modules with operator() so that hooks run.
class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  [[nodiscard]] virtual Variable forward(const Variable& input) = 0;
  [[nodiscard]] Variable operator()(const Variable& input);

  /// Direct parameters and children in declaration order, with their local names.
  [[nodiscard]] const std::vector<std::pair<std::string, Parameter>>& parameters() const noexcept {
    return parameters_;
  }
  [[nodiscard]] const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& children()
      const noexcept {
    return children_;
  }
  void set_hooks(ForwardHooks hooks) { hooks_ = std::move(hooks); }
  /// Whether calling the module does more than forward(): a parent that would use its parameters
  /// directly (fusing several children) must then call it instead.
  [[nodiscard]] bool has_hooks() const noexcept { return hooks_.before || hooks_.after; }

 protected:
  /// Declares a parameter (meta). Keep the returned Variable for forward(). A floating one wants a
  /// gradient and takes the type the model computes in; any other (a quantised payload, say) keeps
  /// `dtype`, never wants a gradient, and must be zeros until it is loaded.
  [[nodiscard]] Variable register_parameter(std::string name, Shape shape, InitSpec init,
                                            DType dtype = DType::f32);
  /// Declares that this module uses another module's parameter under `name` (tied weights). `init`
  /// counts only where no module before it (in declaration order) has the parameter.
  void register_shared(std::string name, const Variable& value, InitSpec init);
  template <class M>
  std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> child) {
    children_.emplace_back(std::move(name), child);
    return child;
  }

 private:
  std::vector<std::pair<std::string, Parameter>> parameters_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> children_;
  ForwardHooks hooks_;
};

/// A list of modules named "0", "1", ... `fully_shard` makes each element a group by default.
/// forward() runs them one after the other.
class ModuleList : public Module {
 public:
  void push_back(std::shared_ptr<Module> module);
  [[nodiscard]] std::size_t size() const noexcept { return children().size(); }
  [[nodiscard]] Module& operator[](std::size_t i) const { return *children().at(i).second; }
  [[nodiscard]] Variable forward(const Variable& input) override;
};

struct NamedParameter {
  std::string name;  ///< fully qualified, "layers.0.mlp.up_proj.weight"
  Variable value;
  InitSpec init;
  std::vector<std::string> aliases;  ///< other names of the same parameter (ties)
};
/// All parameters below `root` in declaration order, each once.
[[nodiscard]] std::vector<NamedParameter> named_parameters(const Module& root);

/// All modules below and including `root`, depth first, with qualified names ("" for root).
[[nodiscard]] std::vector<std::pair<std::string, Module*>> named_modules(Module& root);

/// Gives every parameter memory of its own and its initial values: for use without fully_shard.
/// Floating parameters become `dtype`; others keep theirs.
void materialize(const Module& root, std::uint64_t seed, DType dtype = DType::f32);

}  // namespace sherd::nn
