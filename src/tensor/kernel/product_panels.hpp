#pragma once

#include "tensor/kernel/onednn_matmul.hpp"

namespace sherd::kernel {

/// The sizes of the parts that a result is cut into: `rows` x `cols`, at its edges less.
struct Panels {
  std::int64_t rows = 0;
  std::int64_t cols = 0;

  friend bool operator==(const Panels&, const Panels&) = default;
};

/// Depends on the sizes of the product and on oneDNN's kernels for this processor alone, never on
/// the number of threads: oneDNN chooses the blocks of its sums by the sizes it is given, so that a
/// part has other bits than the same part of the whole.
[[nodiscard]] Panels panels_of(const onednn::Product& product, bool has_avx512) noexcept;

/// Multiplies panel by panel, each on one thread of the calling thread's team.
void run_in_panels(const onednn::Product& product, const void* a, const void* b, void* c);

}  // namespace sherd::kernel
