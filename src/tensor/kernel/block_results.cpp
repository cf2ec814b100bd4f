#include "tensor/kernel/block_results.hpp"

#include "sherd/runtime/device.hpp"

namespace sherd::kernel {

HostCopy::HostCopy(const Tensor& tensor) : tensor_(tensor) {
  if (tensor.is_on_device()) {
    tensor_ = Tensor::empty(tensor.shape(), tensor.dtype(), MemoryKind::pinned);
    copy(tensor, tensor_);
    written_ = tensor.device()->compute_stream().record();
  }
}

HostCopy::~HostCopy() {
  try {
    written_.synchronize();
  } catch (...) {  // the device failed: nobody writes any more
  }
}

const Tensor& HostCopy::read() const {
  written_.synchronize();
  return tensor_;
}

PendingStats BlockResults::pending() const {
  PendingStats stats;
  stats.squares_ = std::make_shared<const HostCopy>(squares_);
  stats.nonfinite_ = std::make_shared<const HostCopy>(nonfinite_);
  return stats;
}

/// In the order of the blocks, wherever they were computed.
GradStats PendingStats::read() const {
  GradStats stats;
  if (!squares_) {
    return stats;
  }
  for (const double sum : squares_->read().span<double>()) {
    stats.sum_of_squares += sum;
  }
  for (const std::int64_t count : nonfinite_->read().span<std::int64_t>()) {
    stats.nonfinite += count;
  }
  return stats;
}

}  // namespace sherd::kernel
