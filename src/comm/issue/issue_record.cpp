#include "comm/issue/issue_record.hpp"

#include <algorithm>

namespace sherd::comm {
namespace {

/// Order matters, and no label leaves the hash as it was.
std::uint64_t mixed(std::uint64_t hash, std::uint32_t label) noexcept {
  std::uint64_t value = hash + 0x9E3779B97F4A7C15ULL * (std::uint64_t{label} + 1);
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

}  // namespace

std::uint64_t last_hash(const IssueRecord& record) noexcept {
  const std::uint64_t count = record.count.load(std::memory_order_relaxed);
  return count == 0
             ? 0
             : record.entries[(count - 1) % kKeptIssues].hash.load(std::memory_order_relaxed);
}

/// The fence keeps an entry from being seen to change before the count that was there when it was
/// written: a reader that meets the new entry then sees at least that count and leaves the old one
/// out.
void append(IssueRecord& record, std::uint32_t label) noexcept {
  const std::uint64_t count = record.count.load(std::memory_order_relaxed);
  const std::uint64_t hash = mixed(last_hash(record), label);
  std::atomic_thread_fence(std::memory_order_release);
  IssueRecord::Entry& entry = record.entries[count % kKeptIssues];
  entry.hash.store(hash, std::memory_order_relaxed);
  entry.label.store(label, std::memory_order_relaxed);
  record.count.store(count + 1, std::memory_order_release);
}

void clear(IssueRecord& record) noexcept {
  const std::uint64_t era = record.era.load(std::memory_order_relaxed);
  record.era.store(era + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  record.count.store(0, std::memory_order_relaxed);
  record.era.store(era + 2, std::memory_order_release);
}

IssueHistory read(const IssueRecord& record) noexcept {
  IssueHistory history;
  history.era = record.era.load(std::memory_order_acquire);
  history.count = record.count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < kKeptIssues; ++i) {
    history.hashes[i] = record.entries[i].hash.load(std::memory_order_relaxed);
    history.labels[i] = record.entries[i].label.load(std::memory_order_relaxed);
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  // The entry after the last may be half written: the one it replaces is left out.
  const std::uint64_t after = record.count.load(std::memory_order_relaxed) + 1;
  history.first = after > kKeptIssues ? after - kKeptIssues : 0;
  history.first = std::min(history.first, history.count);
  if (history.era % 2 != 0 || record.era.load(std::memory_order_relaxed) != history.era) {
    return {};
  }
  return history;
}

}  // namespace sherd::comm
