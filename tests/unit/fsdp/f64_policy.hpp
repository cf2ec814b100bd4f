#pragma once

#include "sherd/fsdp/mixed_precision.hpp"

namespace sherd::fsdp {

/// Everything in f64: what sharding changes is then the order of sums, and nothing else.
inline constexpr MixedPrecisionPolicy kF64{.param_dtype = DType::f64, .master_dtype = DType::f64};

}  // namespace sherd::fsdp
