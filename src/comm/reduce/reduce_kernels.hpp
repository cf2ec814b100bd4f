#pragma once

#include <cstddef>

#include "sherd/comm/communicator.hpp"

namespace sherd::comm {

/// One compiled reduction: `out` = op over `inputs[0..ranks)`, added in that order.
using ReduceKernel = void (*)(void* out, const void* const* inputs, std::size_t ranks,
                              std::size_t count);

/// The kernel of a dtype and an operation; null for dtypes that cannot be reduced. Each is compiled
/// for several instruction sets; the loader chooses the best this processor has.
[[nodiscard]] ReduceKernel find_reduce_kernel(DType dtype, ReduceOp op);

}  // namespace sherd::comm
