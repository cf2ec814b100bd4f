#pragma once

#include <vector>

#include "sherd/tensor/tensor.hpp"

namespace sherd::io {

/// The elements of a 1-D tensor of any dtype as doubles, into `out` (resized). 64-bit integers
/// beyond 2^53 are rounded.
void to_doubles(const Tensor& tensor, std::vector<double>& out);

}  // namespace sherd::io
