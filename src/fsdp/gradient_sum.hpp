#pragma once

#include <span>

#include "sherd/tensor/kernel/optimizer.hpp"
#include "sherd/tensor/tensor.hpp"

namespace sherd::fsdp {

/// to (+)= sources[0] + sources[1] + ..., the sum formed in f32 (f64 for f64) and rounded once to
/// `rounded`; in one pass with the statistics of `to` where nothing is narrower than `to`. Does not
/// wait for a device.
inline kernel::PendingStats sum_into(std::span<const Tensor> sources, DType rounded,
                                     const Tensor& to, bool accumulate) {
  bool plain = rounded == to.dtype() && (rounded == DType::f32 || rounded == DType::f64);
  for (const Tensor& source : sources) {
    plain = plain && source.dtype() == to.dtype();
  }
  return plain ? kernel::begin_sum_sources(sources, to, accumulate)
               : kernel::begin_sum_rounded_sources(sources, rounded, to, accumulate);
}

/// The memory of `wide` (1-D) from its start on, as as many elements of a narrower dtype.
[[nodiscard]] Tensor narrowed_view(const Tensor& wide, DType narrow);
/// The inverse of kernel::narrow_in_place().
void widen_in_place(const Tensor& wide, DType narrow);

}  // namespace sherd::fsdp
