#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sherd::comm {

/// Entries kept of each rank.
inline constexpr std::size_t kKeptIssues = 256;

/// What one rank has issued, in memory that the other ranks may map. Written by that rank alone,
/// read at any time. All-zero memory is a valid record.
struct alignas(64) IssueRecord {
  struct Entry {
    std::atomic<std::uint64_t> hash;  ///< over all labels up to this one
    std::atomic<std::uint32_t> label;
  };
  std::atomic<std::uint64_t> era;  ///< odd while a reset is going on; else twice their number
  std::atomic<std::uint64_t> count;
  std::array<Entry, kKeptIssues> entries;  ///< number n is at n % kKeptIssues
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// A copy of a record at one moment; plain bytes, so that it can be sent.
struct IssueHistory {
  std::uint64_t era = 0;
  std::uint64_t first = 0;  ///< entries [first, count) are there
  std::uint64_t count = 0;
  std::array<std::uint64_t, kKeptIssues> hashes{};
  std::array<std::uint32_t, kKeptIssues> labels{};

  [[nodiscard]] bool has(std::uint64_t number) const noexcept {
    return number >= first && number < count;
  }
  [[nodiscard]] std::uint64_t hash(std::uint64_t number) const noexcept {
    return hashes[number % kKeptIssues];
  }
  [[nodiscard]] std::uint32_t label(std::uint64_t number) const noexcept {
    return labels[number % kKeptIssues];
  }
};

[[nodiscard]] std::uint64_t last_hash(const IssueRecord& record) noexcept;
void append(IssueRecord& record, std::uint32_t label) noexcept;
void clear(IssueRecord& record) noexcept;
/// What another rank's record says now; entries that may be half overwritten are left out.
[[nodiscard]] IssueHistory read(const IssueRecord& record) noexcept;

}  // namespace sherd::comm
