#pragma once

#include "sherd/base/dtype.hpp"

namespace sherd::fsdp {

/// Types of a model's life. Parameters, gradients at rest and optimizer state are kept in
/// `master_dtype`; forward and backward compute with parameters rounded to `param_dtype`.
/// Gradients of parameters are made, summed over ranks and accumulated in master_dtype.
struct MixedPrecisionPolicy {
  DType param_dtype = DType::f32;   ///< f32, bf16 (or f64 with an f64 master)
  DType master_dtype = DType::f32;  ///< f32, or f64 for exact comparisons
  bool cast_forward_inputs = true;  ///< floating inputs of the root are cast to param_dtype
};

}  // namespace sherd::fsdp
