// A rank's bytes cut into the stretches that are copied and written as a whole.
#include "io/save/chunks.hpp"

#include <algorithm>
#include <map>

#include "io/disk/page.hpp"

namespace sherd::io {
namespace {

class Chunker {
 public:
  Chunker(StagingPlan& plan, std::uint64_t chunk_bytes) : plan_(plan), chunk_bytes_(chunk_bytes) {}

  void add(const PlacedDataset& dataset, bool joined) {
    const Extent& extent = dataset.extent;
    for (std::uint64_t at = extent.offset; at < extent.end();) {
      if (!joined || at % chunk_bytes_ == 0 || !reaches(at)) {
        plan_.chunks.push_back({at, 0, {}});
      }
      joined = true;
      Chunk& chunk = plan_.chunks.back();
      const std::uint64_t end = std::min(extent.end(), (at / chunk_bytes_ + 1) * chunk_bytes_);
      chunk.parts.push_back({dataset.item, at - extent.offset, at - chunk.file_offset, end - at});
      chunk.bytes = end - chunk.file_offset;
      at = end;
    }
  }

 private:
  /// Whether `at` lies in the part of the file that the last chunk may grow to.
  bool reaches(std::uint64_t at) const {
    return plan_.chunks.back().file_offset / chunk_bytes_ == at / chunk_bytes_;
  }

  StagingPlan& plan_;
  std::uint64_t chunk_bytes_;
};

int group_of(const StateLayout& layout, std::size_t item) {
  return item < layout.tensors.size() ? layout.tensors[item].stage_group : 0;
}

int first_group(const StateLayout& layout, const Chunk& chunk) {
  int first = group_of(layout, chunk.parts.front().item);
  for (const ChunkPart& part : chunk.parts) {
    first = std::min(first, group_of(layout, part.item));
  }
  return first;
}

void order_by_group(const StateLayout& layout, StagingPlan& plan) {
  std::stable_sort(plan.chunks.begin(), plan.chunks.end(), [&](const Chunk& a, const Chunk& b) {
    return first_group(layout, a) < first_group(layout, b);
  });
  std::map<int, std::size_t> ends;
  for (std::size_t i = 0; i < plan.chunks.size(); ++i) {
    for (const ChunkPart& part : plan.chunks[i].parts) {
      ends[group_of(layout, part.item)] = i + 1;
    }
  }
  std::size_t reached = 0;
  for (const auto& [group, end] : ends) {
    reached = std::max(reached, end);
    plan.group_ends.push_back({group, reached});
  }
}

}  // namespace

std::size_t StagingPlan::chunks_up_to(int group) const noexcept {
  std::size_t count = 0;
  for (const GroupEnd& end : group_ends) {
    count = end.group <= group ? end.chunks : count;
  }
  return count;
}

StagingPlan plan_staging(const StateLayout& layout, std::span<const PlacedDataset> mine,
                         std::uint64_t chunk_bytes) {
  StagingPlan plan;
  Chunker chunker(plan, chunk_bytes);
  bool joined = false;
  for (const PlacedDataset& dataset : mine) {
    chunker.add(dataset, joined);
    joined = dataset.joined_with_next;
    plan.items.push_back(dataset.item);
    plan.bytes += dataset.extent.bytes;
  }
  std::sort(plan.items.begin(), plan.items.end());
  order_by_group(layout, plan);
  for (const Chunk& chunk : plan.chunks) {
    plan.memory += memory_of(chunk);
  }
  return plan;
}

std::uint64_t memory_of(const Chunk& chunk) noexcept {
  return round_up_to_page(chunk.file_offset % kPage + chunk.bytes);
}

}  // namespace sherd::io
