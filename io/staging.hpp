#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "io/node_template.hpp"
#include "sherd/dtensor/state_dict.hpp"

namespace sherd::io {

/// One dataset of this rank in staging memory.
struct StagedItem {
  std::size_t item = 0;
  std::size_t stage_offset = 0;
  std::uint64_t bytes = 0;
};

/// A stretch of the file written from one stretch of staging memory.
struct WriteRun {
  std::uint64_t file_offset = 0;
  std::size_t stage_offset = 0;
  std::uint64_t bytes = 0;
};

/// Staging memory mirrors the file: an offset is the same modulo 4096 in both, so that direct I/O
/// can take it as it is; the few bytes between joined datasets stay zero.
struct StagingPlan {
  std::vector<StagedItem> items;  ///< by item number
  std::vector<WriteRun> runs;     ///< by offset
  std::size_t bytes = 0;
};

/// `mine` are this rank's datasets by file offset.
[[nodiscard]] StagingPlan plan_staging(std::span<const PlacedDataset> mine);

/// Page-aligned host memory that is taken once and used for every save.
class StagingBuffer {
 public:
  StagingBuffer() = default;
  StagingBuffer(const StagingBuffer&) = delete;
  StagingBuffer& operator=(const StagingBuffer&) = delete;
  ~StagingBuffer();
  /// At least `bytes` of memory, zero when newly taken. Throws IoError when there is none.
  void reserve(std::size_t bytes);
  /// Zero again, for another plan.
  void clear() noexcept;
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Copies what this rank stores of `state` to its places.
void stage(const StateLayout& layout, const StagingPlan& plan, int rank,
           const dtensor::StateDict& state, std::byte* staging);

}  // namespace sherd::io
