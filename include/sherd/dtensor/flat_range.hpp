#pragma once

#include <cstdint>

#include "sherd/dtensor/shard_spec.hpp"
#include "sherd/tensor/tensor.hpp"

namespace sherd::dtensor {

/// Elements [first, first + numel) of a row-major global tensor.
struct FlatRange {
  std::int64_t first = 0;
  std::int64_t numel = 0;

  [[nodiscard]] std::int64_t end() const noexcept { return first + numel; }
  friend bool operator==(const FlatRange&, const FlatRange&) = default;
};

/// What two ranges share; numel is 0 when nothing.
[[nodiscard]] FlatRange intersect(FlatRange a, FlatRange b) noexcept;

/// Part `index` of `range` cut into `parts` pieces whose sizes differ by at most one.
[[nodiscard]] FlatRange even_part(FlatRange range, int parts, int index) noexcept;

/// The range a rank holds according to its spec.
[[nodiscard]] inline FlatRange range_of(const ShardSpec& spec) noexcept {
  return {spec.offset, spec.numel};
}

/// Throws ArgumentError unless `local` is 1-D of spec.numel elements of spec.dtype and the range
/// lies in the global tensor (all of it when replicated). Local.
void check_consistent(const ShardSpec& spec, const Tensor& local);

}  // namespace sherd::dtensor
