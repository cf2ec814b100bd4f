#include "io/staging.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "sherd/base/error.hpp"

namespace sherd::io {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t round_up(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

StagingPlan plan_staging(std::span<const PlacedDataset> mine) {
  StagingPlan plan;
  bool joined = false;
  for (const PlacedDataset& dataset : mine) {
    const Extent& extent = dataset.extent;
    if (!joined) {
      const std::size_t start = round_up(plan.bytes) + extent.offset % kPage;
      plan.runs.push_back({extent.offset, start, 0});
    }
    WriteRun& run = plan.runs.back();
    run.bytes = extent.end() - run.file_offset;
    plan.items.push_back(
        {dataset.item, run.stage_offset + (extent.offset - run.file_offset), extent.bytes});
    plan.bytes = run.stage_offset + run.bytes;
    joined = dataset.joined_with_next;
  }
  std::sort(plan.items.begin(), plan.items.end(),
            [](const StagedItem& a, const StagedItem& b) { return a.item < b.item; });
  return plan;
}

StagingBuffer::~StagingBuffer() {
  if (data_ != nullptr) {
    ::munmap(data_, bytes_);
  }
}

void StagingBuffer::reserve(std::size_t bytes) {
  if (bytes <= bytes_) {
    return;
  }
  if (data_ != nullptr) {
    ::munmap(data_, bytes_);
    data_ = nullptr;
    bytes_ = 0;
  }
  const std::size_t rounded = round_up(bytes);
  void* memory =
      ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw IoError(fmt::format("no memory for {} bytes of checkpoint staging", rounded));
  }
  data_ = static_cast<std::byte*>(memory);
  bytes_ = rounded;
}

void StagingBuffer::clear() noexcept {
  if (data_ != nullptr) {
    std::memset(data_, 0, bytes_);
  }
}

void stage(const StateLayout& layout, const StagingPlan& plan, int rank,
           const dtensor::StateDict& state, std::byte* staging) {
  auto tensor = state.tensors.begin();
  auto blob = state.per_rank.begin();
  std::size_t at = 0;  // item that the iterators stand at
  for (const StagedItem& item : plan.items) {
    for (; at < item.item; ++at) {
      at < layout.tensors.size() ? (void)++tensor : (void)++blob;
    }
    std::byte* to = staging + item.stage_offset;
    if (item.item >= layout.tensors.size()) {
      std::memcpy(to, blob->second.data(), item.bytes);
      continue;
    }
    const TensorLayout& entry = layout.tensors[item.item];
    const auto index = static_cast<std::size_t>(rank);
    const std::int64_t skipped = entry.stored[index].first - entry.held[index].first;
    const std::byte* from =
        tensor->second.local.raw() + static_cast<std::size_t>(skipped) * size_of(entry.facts.dtype);
    std::memcpy(to, from, item.bytes);
  }
}

}  // namespace sherd::io
