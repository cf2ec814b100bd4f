#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sherd/base/dtype.hpp"
#include "sherd/comm/communicator.hpp"

namespace sherd::contract {

/// Typed access to raw elements through double (exact for every value used here).
[[nodiscard]] double load(const std::byte* data, std::size_t index, DType dtype);
void store(std::byte* data, std::size_t index, DType dtype, double value);

/// A small integer that depends on rank and index: exact in every dtype, and so are sums over
/// ranks.
[[nodiscard]] inline double value_of(int rank, std::size_t index) {
  return static_cast<double>((static_cast<std::size_t>(rank) * 5 + index * 3 + index / 7) % 16);
}

/// value_of() repeats after this many elements.
inline constexpr std::size_t kPeriod = 112;

/// op over ranks of value_of(rank, index).
[[nodiscard]] double reduced(int ranks, std::size_t index, comm::ReduceOp op);

/// `count` elements with value_of(rank, first + i), between two guard bands that still() checks.
class Elements {
 public:
  Elements(std::size_t count, DType dtype);
  Elements(std::size_t count, DType dtype, int rank, std::size_t first = 0);

  [[nodiscard]] std::byte* data() { return bytes_.data() + kGuard; }
  [[nodiscard]] std::byte* at(std::size_t index) { return data() + index * size_of(dtype_); }
  [[nodiscard]] double get(std::size_t index) const;
  /// Whether elements [begin, begin+count) repeat with kPeriod: a whole check at the speed of
  /// memcmp once the first period is known to be right.
  [[nodiscard]] bool repeats(std::size_t begin, std::size_t count) const;
  /// Whether nothing was written outside.
  [[nodiscard]] bool guards_untouched() const;

 private:
  static constexpr std::size_t kGuard = 64;
  DType dtype_;
  std::vector<std::byte> bytes_;
};

/// {0, 1, N-1, N, N+1, 1000, a prime} for N ranks, and 4 MiB of elements for two dtypes.
[[nodiscard]] std::vector<std::size_t> counts_for(int ranks, DType dtype);
[[nodiscard]] const std::vector<DType>& reducible_dtypes();

}  // namespace sherd::contract
