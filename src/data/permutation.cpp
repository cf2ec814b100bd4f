#include "data/permutation.hpp"

#include "sherd/base/mix64.hpp"

namespace sherd::data {
namespace {
constexpr std::uint64_t kRounds = 6;
}

Permutation::Permutation(std::uint64_t size, std::uint64_t seed) noexcept
    : size_(size), seed_(seed) {
  while (half_bits_ < 32 && (std::uint64_t{1} << (2 * half_bits_)) < size) {
    ++half_bits_;
  }
}

std::uint64_t Permutation::scramble(std::uint64_t value) const noexcept {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::uint64_t mixed = mix64(seed_ ^ mix64(right + (round << 56)));
    const std::uint64_t next = left ^ (mixed & mask);
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

std::uint64_t Permutation::operator()(std::uint64_t index) const noexcept {
  do {
    index = scramble(index);
  } while (index >= size_);
  return index;
}

}  // namespace sherd::data
