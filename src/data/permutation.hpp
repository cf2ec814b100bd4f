#pragma once

#include <cstdint>

namespace sherd::data {

/// A pseudo-random permutation of 0 .. size-1 that is a function of (seed, size) and needs no
/// table: a Feistel network over the next even number of bits, walked until it lands inside.
class Permutation {
 public:
  /// `size` >= 1.
  Permutation(std::uint64_t size, std::uint64_t seed) noexcept;
  /// Where `index` < size goes. O(1) on average.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t index) const noexcept;

 private:
  [[nodiscard]] std::uint64_t scramble(std::uint64_t value) const noexcept;

  std::uint64_t size_;
  std::uint64_t seed_;
  int half_bits_ = 1;
};

}  // namespace sherd::data
