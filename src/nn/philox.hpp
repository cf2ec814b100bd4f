#pragma once

#include <array>
#include <cstdint>

namespace sherd::nn {

using PhiloxBlock = std::array<std::uint32_t, 4>;

/// Philox-4x32-10, a counter-based generator: four random words that are a function of the counter
/// and the key alone (Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3;
/// 2011).
[[nodiscard]] constexpr PhiloxBlock philox(PhiloxBlock counter,
                                           std::array<std::uint32_t, 2> key) noexcept {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53U;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57U;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

}  // namespace sherd::nn
