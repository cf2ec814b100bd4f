#pragma once

#include "sherd/runtime/stream.hpp"
#include "sherd/tensor/kernel/optimizer.hpp"
#include "tensor/kernel/body/grad_stats.hpp"

namespace sherd::kernel {

/// What a device computed, on its way to the host; of a tensor on the host the tensor itself.
class HostCopy {
 public:
  explicit HostCopy(const Tensor& tensor);
  /// Waits: the memory must outlive the copy.
  ~HostCopy();
  HostCopy(const HostCopy&) = delete;
  HostCopy& operator=(const HostCopy&) = delete;

  /// Waits for it.
  [[nodiscard]] const Tensor& read() const;

 private:
  Tensor tensor_;
  runtime::Event written_;
};

/// Memory for the statistics of every block of `numel` elements, beside the elements.
class BlockResults {
 public:
  BlockResults(std::int64_t numel, MemoryKind where)
      : numel_(numel),
        squares_(Tensor::empty(Shape{stats_blocks(numel)}, DType::f64, where)),
        nonfinite_(Tensor::empty(Shape{stats_blocks(numel)}, DType::i64, where)) {}

  template <class T>
  [[nodiscard]] BlockStats<T> body(const T* values) const {
    return {values, numel_, squares_.data<double>(), nonfinite_.data<std::int64_t>()};
  }
  [[nodiscard]] std::int64_t blocks() const noexcept { return stats_blocks(numel_); }
  /// Once the work that writes them is issued.
  [[nodiscard]] PendingStats pending() const;

 private:
  std::int64_t numel_;
  Tensor squares_;
  Tensor nonfinite_;
};

}  // namespace sherd::kernel
