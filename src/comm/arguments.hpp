#pragma once

#include <cstddef>
#include <string>

#include "sherd/base/dtype.hpp"

namespace sherd::comm {

// What every backend refuses, before anything has been sent: all ranks throw and stay in step.

/// Throws ArgumentError unless elements of this type can be added and compared (u16 cannot).
void expect_reducible(DType dtype);
/// Throws ArgumentError unless `root` is a rank.
void expect_root(int root, int size);

/// "all_gather of 1000 x f32", for messages.
[[nodiscard]] std::string describe(const char* operation, std::size_t count, DType dtype);

}  // namespace sherd::comm
