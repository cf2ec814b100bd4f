#pragma once

#include "sherd/base/dtype.hpp"

namespace sherd::comm {

// What every backend refuses, before anything has been sent: all ranks throw and stay in step.

/// Throws ArgumentError unless elements of this type can be added and compared (u16 cannot).
void expect_reducible(DType dtype);
/// Throws ArgumentError unless `root` is a rank.
void expect_root(int root, int size);

}  // namespace sherd::comm
