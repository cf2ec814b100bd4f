#pragma once

#include "sherd/tensor/kernel/optimizer.hpp"
#include "tensor/kernel/body/grad_stats.hpp"
#include "tensor/kernel/scratch.hpp"

namespace sherd::kernel {

/// Memory for the statistics of every block of `numel` elements, and their sum in order.
class BlockResults {
 public:
  explicit BlockResults(std::int64_t numel)
      : numel_(numel), squares_(stats_blocks(numel)), nonfinite_(stats_blocks(numel)) {}

  template <class T>
  [[nodiscard]] BlockStats<T> body(const T* values) const {
    return {values, numel_, squares_.data(), nonfinite_.data()};
  }
  [[nodiscard]] std::int64_t blocks() const noexcept { return stats_blocks(numel_); }
  [[nodiscard]] GradStats total() const {
    GradStats stats;
    for (std::int64_t i = 0; i < blocks(); ++i) {
      stats.sum_of_squares += squares_.data()[i];
      stats.nonfinite += nonfinite_.data()[i];
    }
    return stats;
  }

 private:
  std::int64_t numel_;
  Scratch<double> squares_;
  Scratch<std::int64_t> nonfinite_;
};

}  // namespace sherd::kernel
