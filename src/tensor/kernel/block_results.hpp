#pragma once

#include "sherd/tensor/kernel/optimizer.hpp"
#include "tensor/kernel/body/grad_stats.hpp"

namespace sherd::kernel {

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

/// A copy in pinned memory, there when the compute stream is past it.
[[nodiscard]] Tensor on_its_way_to_host(const Tensor& tensor);

}  // namespace sherd::kernel
