#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sherd/nn/module.hpp"

namespace sherd::plan {

/// Where in a step of a module one is: hooks on its children, and on the children of the elements
/// of its lists, say so while forward runs, nodes hung on their outputs while backward does.
class Places {
 public:
  /// `live` tells the bytes in use, for what an element keeps. Replaces the module's hooks.
  Places(nn::Module& module, std::function<std::size_t()> live);
  ~Places();
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  [[nodiscard]] std::string now() const;
  /// What the forward of the last element of a list left behind: the first one may also make what
  /// all of them share.
  [[nodiscard]] std::size_t kept_by_an_element() const noexcept { return element_bytes_; }

 private:
  struct Role {
    std::string place;     ///< "" for modules that are no place
    bool element = false;  ///< of a list
    bool root = false;
  };
  [[nodiscard]] static Role role_of(const std::string& name, const nn::Module& module);
  void hook(nn::Module& module, const Role& role);
  void enter(const Role& role);
  void leave(const Role& role);

  std::function<std::size_t()> live_;
  std::vector<nn::Module*> hooked_;
  std::string place_ = "forward";
  std::string again_;  ///< of a body that is re-run inside backward
  std::size_t before_element_ = 0;
  std::size_t element_bytes_ = 0;
};

}  // namespace sherd::plan
