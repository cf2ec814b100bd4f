#pragma once

#include "sherd/autograd/function.hpp"

namespace sherd::autograd {

/// record_one() for an operation that must be recorded even though none of its inputs wants a
/// gradient (parameters hidden inside do).
[[nodiscard]] Variable record_hidden(std::string_view name, std::vector<Variable> inputs,
                                     Tensor output, std::vector<Tensor> saved,
                                     BackwardFunction backward);

/// backward() that may only run nodes recorded after `oldest`; meeting an older one is an error.
void backward_after(const Variable& root, Tensor seed, std::uint64_t oldest);

}  // namespace sherd::autograd
