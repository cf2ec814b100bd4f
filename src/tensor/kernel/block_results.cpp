#include "tensor/kernel/block_results.hpp"

#include "sherd/runtime/device.hpp"

namespace sherd::kernel {

Tensor on_its_way_to_host(const Tensor& tensor) {
  const Tensor to = Tensor::empty(tensor.shape(), tensor.dtype(), MemoryKind::pinned);
  copy(tensor, to);
  return to;
}

PendingStats BlockResults::pending() const {
  PendingStats stats;
  if (!squares_.is_on_device()) {
    stats.squares_ = squares_;
    stats.nonfinite_ = nonfinite_;
    return stats;
  }
  stats.squares_ = on_its_way_to_host(squares_);
  stats.nonfinite_ = on_its_way_to_host(nonfinite_);
  stats.written_ = squares_.device()->compute_stream().record();
  return stats;
}

/// In the order of the blocks, wherever they were computed.
GradStats PendingStats::read() const {
  GradStats stats;
  if (!squares_.defined()) {
    return stats;
  }
  written_.synchronize();
  for (const double sum : squares_.span<double>()) {
    stats.sum_of_squares += sum;
  }
  for (const std::int64_t count : nonfinite_.span<std::int64_t>()) {
    stats.nonfinite += count;
  }
  return stats;
}

}  // namespace sherd::kernel
