#pragma once

#include <cstddef>

#include "io/layout/state_layout.hpp"

namespace sherd::io {

/// Fills `stored` and `replica` of a tensor whose `held` and `blocks` are known; `index` spreads
/// the blocks that several ranks hold over them. Throws ArgumentError when ranges or blocks do not
/// make up the tensor.
void assign_stored(TensorLayout& tensor, std::size_t index);

}  // namespace sherd::io
