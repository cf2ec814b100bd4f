#include "io/disk/crc32c.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string_view>
#include <vector>

namespace sherd::io {
namespace {

using Crc = std::uint32_t (*)(std::span<const std::byte>, std::uint32_t) noexcept;

std::vector<std::byte> ascending(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  }
  return bytes;
}

class Crc32c : public ::testing::TestWithParam<Crc> {};

TEST_P(Crc32c, GivesTheAnswersOfRfc3720) {
  const Crc crc = GetParam();
  EXPECT_EQ(crc(std::as_bytes(std::span(std::string_view("123456789"))), 0), 0xE3069283U);
  EXPECT_EQ(crc({}, 0), 0U);
  std::vector<std::uint8_t> bytes(32, 0);
  EXPECT_EQ(crc(std::as_bytes(std::span(bytes)), 0), 0x8A9136AAU);
  bytes.assign(32, 0xFF);
  EXPECT_EQ(crc(std::as_bytes(std::span(bytes)), 0), 0x62A8AB43U);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  EXPECT_EQ(crc(std::as_bytes(std::span(bytes)), 0), 0x46DD794EU);
}

TEST_P(Crc32c, ContinuesAtAnySplitAndAlignment) {
  const Crc crc = GetParam();
  const std::vector<std::byte> bytes = ascending(300);
  for (std::size_t first = 0; first < 9; ++first) {
    const auto all = std::span(bytes).subspan(first);
    const std::uint32_t whole = crc32c_portable(all, 0);
    for (std::size_t split = 0; split <= all.size(); split += 13) {
      EXPECT_EQ(crc(all.subspan(split), crc(all.first(split), 0)), whole);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, Crc32c, ::testing::Values(&crc32c, &crc32c_portable));

TEST(Crc32cLanes, LongRunsGiveWhatTheTableGives) {
  const std::vector<std::byte> bytes = ascending(100000);
  const std::span<const std::byte> all(bytes);
  for (const std::size_t length : {12287U, 12288U, 12289U, 24576U, 24581U, 99990U}) {
    for (const std::size_t first : {0U, 3U, 8U}) {
      const auto part = all.subspan(first, length);
      EXPECT_EQ(crc32c(part, 77), crc32c_portable(part, 77)) << length;
    }
  }
}

TEST(Crc32cCombine, JoinsDigestsOfParts) {
  const std::vector<std::byte> bytes = ascending(5000);
  const std::span<const std::byte> all(bytes);
  for (const std::size_t split : {0U, 1U, 7U, 8U, 255U, 4096U, 4999U, 5000U}) {
    EXPECT_EQ(
        crc32c_combine(crc32c(all.first(split)), crc32c(all.subspan(split)), all.size() - split),
        crc32c(all));
  }
}

TEST(Crc32cCombine, KnowsLongZeroRuns) {
  const std::vector<std::byte> zeros(1U << 20);
  const std::vector<std::byte> head = ascending(11);
  const std::uint32_t joined = crc32c_combine(crc32c(head), crc32c(zeros), zeros.size());
  EXPECT_EQ(joined, crc32c(zeros, crc32c(head)));
}

}  // namespace
}  // namespace sherd::io
