#include "io/load/read_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "io/disk/page.hpp"
#include "io/load/part_digests.hpp"
#include "io/load/read_chunks.hpp"
#include "support/checkpoint_world.hpp"
#include "support/inproc_ranks.hpp"

/// Who reads what, without files.
namespace sherd::io::test {
namespace {

using dtensor::FlatRange;

constexpr std::int64_t kNumel = 3'000'001;
const std::vector<int> kNode = {0, 1, 2};

/// Saved by four ranks, wanted by three.
struct World {
  TensorRecord record;
  TensorLayout layout;
  std::vector<LoadItem> items;

  explicit World(dtensor::Placement placement) {
    record.key = std::string("model.x");
    record.shape = Shape{kNumel};
    layout.facts.placement = placement;
    std::uint64_t at = 4096;
    for (int rank = 0; rank < 4; ++rank) {
      const FlatRange range = dtensor::even_part({0, kNumel}, 4, rank);
      record.pieces.push_back(
          {.rank = rank, .file_offset = at, .first = range.first, .numel = range.numel});
      at += round_up_to_page(static_cast<std::uint64_t>(range.numel) * 4);
    }
    for (const int rank : kNode) {
      layout.held.push_back(placement == dtensor::Placement::replicated
                                ? FlatRange{0, kNumel}
                                : dtensor::even_part({0, kNumel}, 3, rank));
    }
    items.push_back({&record, &layout, {}});
  }
};

/// Elements of the tensor, in order.
std::vector<FlatRange> ranges_of(const std::vector<Fragment>& fragments) {
  std::vector<FlatRange> ranges;
  for (const Fragment& fragment : fragments) {
    ranges.push_back({fragment.piece->first + fragment.part.first, fragment.part.numel});
  }
  return ranges;
}

std::int64_t expect_adjacent(const std::vector<FlatRange>& ranges, std::int64_t first) {
  for (const FlatRange& range : ranges) {
    EXPECT_EQ(range.first, first);
    EXPECT_GT(range.numel, 0);
    first = range.end();
  }
  return first;
}

TEST(ReadPlan, OfAShardedTensorEachRankReadsJustWhatItHolds) {
  const World world(dtensor::Placement::sharded);
  for (const int rank : kNode) {
    const ReadPlan plan = plan_reads(world.items, kNode, rank);
    EXPECT_TRUE(plan.shared.empty());
    EXPECT_EQ(plan.digests, 6U);  // each of the two inner edges cuts a piece
    const FlatRange held = world.layout.held[static_cast<std::size_t>(rank)];
    EXPECT_EQ(expect_adjacent(ranges_of(plan.own), held.first), held.end());
  }
}

TEST(ReadPlan, OfAReplicatedTensorAllListTheSameSmallParts) {
  const World world(dtensor::Placement::replicated);
  std::set<std::size_t> digests;
  for (const int rank : kNode) {
    const ReadPlan plan = plan_reads(world.items, kNode, rank);
    EXPECT_TRUE(plan.own.empty());
    EXPECT_EQ(expect_adjacent(ranges_of(plan.shared), 0), kNumel);
    EXPECT_EQ(plan.digests, plan.shared.size());
    for (const Fragment& fragment : plan.shared) {
      EXPECT_LE(fragment.part.numel * 4, static_cast<std::int64_t>(kDigestBytes));
      digests.insert(fragment.digest);
    }
    EXPECT_EQ(digests.size(), plan.digests);
  }
  EXPECT_EQ(plan_reads(world.items, std::vector{1}, 1).own.size(), digests.size()) << "alone";
}

TEST(ReadPlan, ChunksAreBoundedAndCutOnPages) {
  const World sharded(dtensor::Placement::sharded);
  const World replicated(dtensor::Placement::replicated);
  const std::vector<std::pair<const World*, std::vector<Fragment>>> lists = {
      {&sharded, plan_reads(sharded.items, kNode, 1).own},
      {&replicated, plan_reads(replicated.items, kNode, 1).shared}};
  for (const auto& [world, fragments] : lists) {
    const ReadList list = pack_chunks(fragments, world->items);
    std::vector<std::size_t> chunks_of(fragments.size(), 0);
    std::int64_t elements = 0;
    for (const ReadChunk& chunk : list.chunks) {
      EXPECT_LE(chunk.bytes, kReadBytes);
      for (const ReadSlice& slice : list.slices_of(chunk)) {
        const Fragment& fragment = list.fragments[slice.fragment];
        EXPECT_EQ(chunk.offset + slice.at,
                  fragment.piece->file_offset + static_cast<std::uint64_t>(slice.part.first) * 4);
        EXPECT_TRUE(slice.part.first == fragment.part.first ||
                    (chunk.offset + slice.at) % kPage == 0);
        EXPECT_EQ(slice.bytes, static_cast<std::size_t>(slice.part.numel) * 4);
        EXPECT_LE(slice.at + slice.bytes, chunk.bytes);
        ++chunks_of[slice.fragment];
        elements += slice.part.numel;
      }
    }
    for (std::size_t i = 0; i < fragments.size(); ++i) {
      const bool small =
          list.fragments[i].part.numel * 4 <= static_cast<std::int64_t>(kDigestBytes);
      EXPECT_TRUE(chunks_of[i] == 1 || !small);
    }
    const std::vector<FlatRange> wanted = ranges_of(fragments);
    EXPECT_EQ(elements, wanted.back().end() - wanted.front().first);
  }
}

TEST(ReadPlan, RanksBeginAtDifferentPlaces) {
  EXPECT_EQ(staggered(4, 0, 2), (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(staggered(4, 1, 2), (std::vector<std::size_t>{2, 3, 0, 1}));
  EXPECT_TRUE(staggered(0, 1, 2).empty());
}

TEST(DigestTable, ReadersThatSawDifferentBytesAreNotTrusted) {
  World world(dtensor::Placement::replicated);
  world.record.pieces.resize(1);
  world.record.pieces[0].numel = 100;
  world.record.pieces[0].crc32c = 70;
  Manifest manifest;
  manifest.files.push_back({"shards/node-00000.h5"});
  on_ranks(3, 1, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    const auto problem_when_rank_2_saw = [&](std::uint32_t crc) {
      DigestTable table(1);
      if (ranks.rank() > 0) {  // rank 0 reads nothing
        table.set(0, ranks.rank() == 2 ? crc : 70);
      }
      return table.find_problem(ranks, world.items, manifest).has_value();
    };
    EXPECT_FALSE(problem_when_rank_2_saw(70));
    EXPECT_TRUE(problem_when_rank_2_saw(69));
    EXPECT_TRUE(problem_when_rank_2_saw(71));
  });
}

}  // namespace
}  // namespace sherd::io::test
