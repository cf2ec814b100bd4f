#include "io/save/chunks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>

#include "io/disk/crc32c.hpp"
#include "io/disk/page.hpp"
#include "io/format/manifest.hpp"
#include "io/save/ring.hpp"
#include "io/save/stager.hpp"
#include "support/checkpoint_world.hpp"

namespace sherd::io {
namespace {

/// One rank with tensors of bytes; `sizes` and stage groups by item.
StateLayout layout_of(std::span<const std::pair<std::int64_t, int>> tensors) {
  StateLayout layout;
  for (const auto& [bytes, group] : tensors) {
    TensorLayout tensor;
    tensor.key = "t." + std::to_string(layout.tensors.size());
    tensor.facts.dtype = DType::u8;
    tensor.facts.global_shape = {bytes};
    tensor.held = {{0, bytes}};
    tensor.stored = tensor.held;
    tensor.stage_group = group;
    layout.tensors.push_back(std::move(tensor));
  }
  return layout;
}

constexpr std::uint64_t kChunk = 16384;

struct Case {
  StateLayout layout;
  std::vector<PlacedDataset> placed;
};

/// Items 0 and 1 joined over a gap; item 2 alone at an odd place, of a lower group than item 3.
Case sample_case() {
  const std::array<std::pair<std::int64_t, int>, 4> tensors{
      {{40000, 1}, {5000, 1}, {50, 0}, {9000, 2}}};
  return {layout_of(tensors),
          {{0, 2, {100, 50}, false},
           {0, 0, {4096, 40000}, true},
           {0, 1, {45056, 5000}, false},
           {0, 3, {1 << 20, 9000}, false}}};
}

TEST(StagingPlan, ChunksCoverEveryByteOnceAndEndAtMultiplesOfTheirSize) {
  const Case it = sample_case();
  const StagingPlan plan = plan_staging(it.layout, it.placed, kChunk);
  std::map<std::size_t, std::uint64_t> covered;
  for (const Chunk& chunk : plan.chunks) {
    EXPECT_EQ(chunk.file_offset / kChunk, (chunk.file_offset + chunk.bytes - 1) / kChunk);
    for (const ChunkPart& part : chunk.parts) {
      EXPECT_EQ(part.from, covered[part.item]);
      covered[part.item] += part.bytes;
      const std::uint64_t offset = [&] {
        for (const PlacedDataset& dataset : it.placed) {
          if (dataset.item == part.item) {
            return dataset.extent.offset;
          }
        }
        return std::uint64_t{0};
      }();
      EXPECT_EQ(chunk.file_offset + part.at, offset + part.from);
    }
  }
  for (std::size_t item = 0; item < 4; ++item) {
    EXPECT_EQ(covered[item], item_bytes(it.layout, 0, item));
  }
  EXPECT_EQ(plan.bytes, 40000U + 5000U + 50U + 9000U);
}

TEST(StagingPlan, LowerGroupsComeFirst) {
  const Case it = sample_case();
  const StagingPlan plan = plan_staging(it.layout, it.placed, kChunk);
  EXPECT_EQ(plan.chunks_up_to(-1), 0U);
  EXPECT_EQ(plan.chunks_up_to(0), 1U);
  EXPECT_EQ(plan.chunks.front().parts.front().item, 2U);
  EXPECT_EQ(plan.chunks_up_to(1), plan.chunks.size() - 1);
  EXPECT_EQ(plan.chunks_up_to(2), plan.chunks.size());
  EXPECT_EQ(plan_staging(it.layout, {}, kChunk).chunks.size(), 0U);
}

TEST(Stager, CopiesWhatTheFileHoldsAndTakesDigestsOfIt) {
  const std::array<std::pair<std::int64_t, int>, 2> tensors{{{3000000, 1}, {700, 0}}};
  StateLayout layout = layout_of(tensors);
  layout.tensors[0].blocks = {dtensor::Block{{0}, {3000000}}};
  const std::vector<PlacedDataset> placed = {{0, 0, {4096, 3000000}, true},
                                             {0, 1, {3006464, 700}, false}};
  const StagingPlan plan = plan_staging(layout, placed, kChunk);
  dtensor::StateDict state;
  for (const TensorLayout& tensor : layout.tensors) {
    dtensor::DTensor& added = state.tensors[tensor.key];
    added.spec.dtype = DType::u8;
    added.spec.numel = tensor.stored[0].numel;
    added.local = Tensor::zeros(Shape{added.spec.numel}, DType::u8);
    added.volatile_contents = state.tensors.size() == 2;
    test::fill(added, state.tensors.size());
  }
  Stager stager(layout, plan, StageSources(layout, 0, state));
  state.tensors["t.1"].local.raw()[0] ^= std::byte{1};  // after its copy was taken
  std::vector<std::byte> file(1 << 22, std::byte{0xEE});
  StagingRing ring;
  ring.reserve(2 * kChunk);
  for (const Chunk& chunk : plan.chunks) {
    std::byte* const memory = ring.try_acquire(memory_of(chunk));
    ASSERT_NE(memory, nullptr);
    std::memset(memory, 0xEE, memory_of(chunk));
    const std::byte* const begin = stager.copy(chunk, memory);
    EXPECT_TRUE(on_page(begin, 0) || chunk.file_offset % kPage != 0);
    std::memcpy(file.data() + chunk.file_offset, begin, chunk.bytes);
    ring.release(memory);
  }
  const ItemDigests digests = stager.digests();
  for (std::size_t i = 0; i < 2; ++i) {
    const Extent extent = placed[i].extent;
    for (std::uint64_t at = 0; at < extent.bytes; ++at) {
      ASSERT_EQ(file[extent.offset + at], test::pattern(i + 1, static_cast<std::int64_t>(at)));
    }
    EXPECT_EQ(digests.whole[i], crc32c({file.data() + extent.offset, extent.bytes}));
  }
  EXPECT_EQ(file[3006463], std::byte{0}) << "between datasets";
  ASSERT_EQ(digests.parts.size(), 1U);
  ASSERT_EQ(digests.parts[0].size(), 3U);
  EXPECT_EQ(digests.parts[0][1], crc32c({file.data() + 4096 + kDigestBytes, kDigestBytes}));
}

TEST(StagingRing, HandsOutMemoryInACircle) {
  StagingRing ring;
  ring.reserve(10 * kPage);
  std::byte* const a = ring.try_acquire(4 * kPage);
  std::byte* const b = ring.try_acquire(4 * kPage);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(ring.try_acquire(3 * kPage), nullptr);
  ring.release(b);
  EXPECT_EQ(ring.try_acquire(4 * kPage), nullptr) << "the older one still lies there";
  ring.release(a);
  std::byte* const c = ring.try_acquire(10 * kPage);
  EXPECT_EQ(c, a);
  ring.release(c);
  std::byte* const d = ring.try_acquire(6 * kPage);
  std::byte* const e = ring.try_acquire(4 * kPage);
  ring.release(d);
  std::byte* const f = ring.try_acquire(5 * kPage);
  EXPECT_EQ(f, d);
  EXPECT_EQ(ring.try_acquire(2 * kPage), nullptr);
  ring.release(e);
  ring.release(f);
  EXPECT_EQ(ring.try_acquire(11 * kPage), nullptr);
}

}  // namespace
}  // namespace sherd::io
