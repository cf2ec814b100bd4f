#include "plan/places.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <utility>

#include "sherd/autograd/function.hpp"

namespace sherd::plan {
namespace {

std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts;
  std::istringstream text(name);
  for (std::string part; std::getline(text, part, '.');) {
    parts.push_back(part);
  }
  return parts;
}

bool is_number(const std::string& part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char letter) {
    return std::isdigit(letter) != 0;
  });
}

bool is_list(const nn::Module& module) {
  return !module.children().empty() && is_number(module.children().front().first);
}

/// An identity in the graph whose backward calls `then` before the gradient goes on.
nn::Variable hang_on(const nn::Variable& x, std::function<void()> then) {
  return autograd::record_one("sherd::place", {x}, x.data(), {},
                              [then = std::move(then)](autograd::BackwardContext& context) {
                                then();
                                context.pass(0, context.grad_output(0));
                              });
}

}  // namespace

/// "embed_tokens"; "layers.3 mlp" for children of a list's element, or "hidden.0" for an element
/// without children. What lies deeper belongs to the place around it.
Places::Role Places::role_of(const std::string& name, const nn::Module& module) {
  const std::vector<std::string> parts = parts_of(name);
  const auto number = std::find_if(parts.begin(), parts.end(), is_number);
  if (number == parts.end()) {
    return {.place = parts.size() == 1 && !is_list(module) ? name : "", .root = parts.empty()};
  }
  const auto inside = parts.end() - number - 1;
  if (inside == 0) {
    return {.place = module.children().empty() ? name : "", .element = true};
  }
  if (inside == 1) {
    return {.place = name.substr(0, name.rfind('.')) + " " + parts.back()};
  }
  return {};
}

Places::Places(nn::Module& module, std::function<std::size_t()> live) : live_(std::move(live)) {
  for (const auto& [name, each] : nn::named_modules(module)) {
    const Role role = role_of(name, *each);
    if (!role.place.empty() || role.element || role.root) {
      hook(*each, role);
    }
  }
}

Places::~Places() {
  for (nn::Module* module : hooked_) {
    module->set_hooks({});
  }
}

std::string Places::now() const { return autograd::recomputing() ? again_ : place_; }

void Places::hook(nn::Module& module, const Role& role) {
  hooked_.push_back(&module);
  module.set_hooks({.before =
                        [this, role](nn::Module&, const nn::Variable& x) {
                          enter(role);
                          return x;
                        },
                    .after =
                        [this, role](nn::Module&, const nn::Variable& y) {
                          leave(role);
                          if (role.place.empty() || !y.requires_grad()) {
                            return y;
                          }
                          return hang_on(y, [this, role] { place_ = "backward of " + role.place; });
                        }});
}

void Places::enter(const Role& role) {
  if (role.element && !autograd::in_backward()) {
    before_element_ = live_();
  }
  if (role.place.empty()) {
    return;
  }
  const bool again = autograd::in_backward();
  std::string place = (again ? "recomputation of " : "forward of ") + role.place;
  (autograd::recomputing() ? again_ : place_) = std::move(place);
}

void Places::leave(const Role& role) {
  if (autograd::in_backward()) {
    return;
  }
  if (role.root) {
    place_ = "forward of the loss";
  }
  if (role.element) {
    element_bytes_ = live_() - before_element_;
  }
}

}  // namespace sherd::plan
