#pragma once

#include <cstddef>
#include <memory>

#include "autograd/grad_slot.hpp"

namespace sherd::autograd {

class Node;

/// What copies of a Variable share.
struct VariableImpl {
  Tensor data;
  bool requires_grad = false;
  bool leaf = true;
  bool external_buffer = false;  ///< leaf: the gradient's memory was set by the caller
  GradSlot grad;                 ///< leaf
  std::shared_ptr<Node> node;    ///< result: the operation that made it, where recorded
  std::size_t output = 0;        ///< result: which of its outputs
};

}  // namespace sherd::autograd
