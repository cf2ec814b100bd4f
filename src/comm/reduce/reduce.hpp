#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sherd/base/dtype.hpp"
#include "sherd/comm/communicator.hpp"

namespace sherd::comm {

/// Where a result goes: into the caches as usual, or past them, for results too large to stay.
enum class Destination : std::uint8_t { caches, memory };

/// out[i] = op over `inputs` of input[i], for `count` elements. Contributions are added in the
/// order of `inputs`; f16 and bf16 are summed in f32 and rounded once. `out` may be one of the
/// inputs, nothing may overlap otherwise. Pointers need no alignment beyond the element's. Throws
/// ArgumentError for dtypes that cannot be reduced (u16).
void reduce(void* out, std::span<const void* const> inputs, std::size_t count, DType dtype,
            ReduceOp op, Destination destination = Destination::caches);

/// Throws ArgumentError unless elements of this type can be added and compared (u16 cannot).
void expect_reducible(DType dtype);

}  // namespace sherd::comm
