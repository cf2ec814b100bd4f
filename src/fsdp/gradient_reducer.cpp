#include "fsdp/gradient_reducer.hpp"

#include <algorithm>

namespace sherd::fsdp {

void GradientReducer::zero() {
  std::fill(written_.begin(), written_.end(), false);
  std::fill(stats_.begin(), stats_.end(), kernel::GradStats{});
}

kernel::GradStats GradientReducer::stats() const {
  kernel::GradStats sum;
  for (const kernel::GradStats& one : stats_) {
    sum.sum_of_squares += one.sum_of_squares;
    sum.nonfinite += one.nonfinite;
  }
  return sum;
}

std::size_t GradientReducer::main_bytes() const {
  std::size_t sum = 0;
  for (const Tensor& tensor : mains_) {
    sum += tensor.defined() ? tensor.nbytes() : 0;
  }
  return sum;
}

std::size_t reduction_ring_bytes(const GroupSet& set, DType dtype, std::size_t ring) {
  std::size_t bytes = 0;
  for (const std::int64_t numel : ring_slot_numel(set, ring, true)) {
    bytes += static_cast<std::size_t>(numel) * size_of(dtype);
  }
  return bytes;
}

}  // namespace sherd::fsdp
