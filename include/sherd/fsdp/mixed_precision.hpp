#pragma once

#include <optional>

#include "sherd/base/dtype.hpp"

namespace sherd::fsdp {

/// Types of a model's life. In order: forward and backward compute with parameters rounded from
/// master_dtype to param_dtype; a group's gradient is made in master_dtype; each rank's part of a
/// sum is rounded to reduce_dtype; what a node has summed is rounded to cross_reduce_dtype before
/// it goes to other nodes; sums are added up over micro-batches in accumulate_dtype; the optimizer
/// works in master_dtype. Sums of rounded values are formed in f32 and rounded once.
struct MixedPrecisionPolicy {
  DType param_dtype = DType::f32;                    ///< f32, bf16, f16 (f64 with an f64 master)
  DType master_dtype = DType::f32;                   ///< f32, or f64 for exact comparisons
  std::optional<DType> reduce_dtype = std::nullopt;  ///< default: master_dtype; f32, bf16 or f16
  std::optional<DType> cross_reduce_dtype = std::nullopt;  ///< default: reduce_dtype
  std::optional<DType> accumulate_dtype =
      std::nullopt;  ///< default: master_dtype; bf16 halves resting gradients
  std::optional<DType> output_dtype = std::nullopt;  ///< of the root's output; default: as computed
  bool cast_forward_inputs = true;  ///< floating inputs of the root are cast to param_dtype

  [[nodiscard]] DType reduce() const noexcept { return reduce_dtype.value_or(master_dtype); }
  [[nodiscard]] DType cross_reduce() const noexcept {
    return cross_reduce_dtype.value_or(reduce());
  }
  [[nodiscard]] DType accumulate() const noexcept {
    return accumulate_dtype.value_or(master_dtype);
  }
};

}  // namespace sherd::fsdp
