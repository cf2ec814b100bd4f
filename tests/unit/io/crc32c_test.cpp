#include "io/disk/crc32c.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "io/disk/crc32c_paths.hpp"

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

constexpr std::byte kUntouched{0xA5};

/// Whether `path` gives the table's digest of `from` and copies it, and nothing else, to `to`.
void expect_same(const Crc32cPath& path, std::span<const std::byte> from, std::byte* to) {
  const std::uint32_t expected = crc32c_portable(from, 77);
  EXPECT_EQ(path.take(from.data(), from.size(), nullptr, 77), expected)
      << path.name << ", " << from.size() << " bytes";
  std::fill_n(to - 1, from.size() + 2, kUntouched);
  EXPECT_EQ(path.take(from.data(), from.size(), to, 77), expected)
      << path.name << ", " << from.size() << " bytes copied";
  EXPECT_TRUE(std::equal(from.begin(), from.end(), to)) << path.name << ", " << from.size();
  EXPECT_EQ(to[-1], kUntouched) << path.name << ", " << from.size();
  EXPECT_EQ(to[from.size()], kUntouched) << path.name << ", " << from.size();
}

TEST(Crc32cPaths, GiveWhatTheTableGivesOfAnyLength) {
  const std::vector<std::byte> bytes = ascending(4096);
  std::vector<std::byte> copied(4098);
  for (const Crc32cPath& path : crc32c_paths()) {
    for (std::size_t length = 0; length <= bytes.size(); ++length) {
      expect_same(path, std::span(bytes).first(length), copied.data() + 1);
    }
  }
}

TEST(Crc32cPaths, GiveWhatTheTableGivesAtAnyAlignment) {
  const std::vector<std::byte> bytes = ascending(2200);
  std::vector<std::byte> copied(2300);
  for (const Crc32cPath& path : crc32c_paths()) {
    for (std::size_t from = 0; from <= 64; from += 7) {
      for (std::size_t to = 1; to <= 65; ++to) {
        expect_same(path, std::span(bytes).subspan(from, 2100), copied.data() + to);
      }
    }
  }
}

TEST(Crc32cPaths, LongRunsGiveWhatTheTableGives) {
  const std::vector<std::byte> bytes = ascending(300000);
  const std::span<const std::byte> all(bytes);
  std::vector<std::byte> copied(300002);
  for (const Crc32cPath& path : crc32c_paths()) {
    for (const std::size_t length : {12287U, 12288U, 24581U, 32768U, 32832U, 99990U, 299990U}) {
      for (const std::size_t first : {0U, 3U, 8U}) {
        expect_same(path, all.subspan(first, length), copied.data() + 1 + first);
      }
    }
  }
}

TEST(Crc32cPaths, EndWithTheTable) {
  ASSERT_FALSE(crc32c_paths().empty());
  EXPECT_STREQ(crc32c_paths().back().name, "table");
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
