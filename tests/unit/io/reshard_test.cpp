#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "io/format/manifest.hpp"
#include "sherd/base/error.hpp"
#include "support/checkpoint_world.hpp"
#include "support/inproc_ranks.hpp"
#include "support/temp_folder.hpp"

/// A checkpoint of any mesh loads on any other, whatever the tensors' cuts.
namespace sherd::io::test {
namespace {

using Mesh = std::pair<int, int>;  // nodes, ranks per node
constexpr Mesh kReshardMeshes[] = {{1, 1}, {1, 3}, {2, 2}, {3, 1}, {1, 5}, {2, 3}};

TEST(Reshard, EveryMeshLoadsWhatEveryOtherSaved) {
  for (const Mesh& from : kReshardMeshes) {
    const TempFolder directory;
    on_ranks(from.first, from.second, [&](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      dtensor::StateDict state = make_state(ranks, Cut::even);
      fill(state, 5);
      Checkpointer checkpointer(comms, {.directory = directory.path()});
      checkpointer.save_async(1, state).wait();
    });
    for (const Mesh& to : kReshardMeshes) {
      on_ranks(to.first, to.second, [&](comm::MeshComms& comms) {
        const comm::Ranks ranks{comms.world.get(), &comms.mesh};
        const bool same_size = from.first * from.second == ranks.size();
        dtensor::StateDict state = make_state(ranks, Cut::last_is_empty);
        const auto random = std::exchange(state.per_rank["random"], {});
        Checkpointer checkpointer(comms, {.directory = directory.path()});
        const auto report = checkpointer.load_latest(state, {.per_rank = PerRank::keep});
        ASSERT_TRUE(report.has_value());
        expect_filled(state, 5);
        EXPECT_EQ(report->notes.empty(), same_size);
        EXPECT_EQ(state.per_rank["random"] == random, same_size);
      });
    }
  }
}

void save(const std::filesystem::path& directory, Mesh mesh, Cut cut, std::uint64_t seed) {
  on_ranks(mesh.first, mesh.second, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    dtensor::StateDict state = make_state(ranks, cut);
    fill(state, seed);
    Checkpointer checkpointer(comms, {.directory = directory});
    checkpointer.save_async(static_cast<std::int64_t>(seed), state).wait();
  });
}

void expect_loads(const std::filesystem::path& directory, Mesh mesh, Cut cut, std::uint64_t seed) {
  on_ranks(mesh.first, mesh.second, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    dtensor::StateDict state = make_state(ranks, cut);
    Checkpointer checkpointer(comms, {.directory = directory});
    const auto report = checkpointer.load_latest(state, {.per_rank = PerRank::keep});
    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->step, static_cast<std::int64_t>(seed));
    expect_filled(state, seed);
  });
}

TEST(Reshard, HybridLoadsOnOtherMeshesAndBack) {
  constexpr Mesh kHybrid[] = {{2, 2}, {3, 2}, {2, 1}, {1, 3}};
  std::uint64_t seed = 1;
  for (const Mesh& from : kHybrid) {
    const TempFolder directory;
    save(directory.path(), from, Cut::hybrid, seed);
    for (const Mesh& to : {Mesh{1, 1}, Mesh{1, 3}, Mesh{2, 2}}) {
      for (const Cut cut : {Cut::even, Cut::hybrid, Cut::replicated}) {
        expect_loads(directory.path(), to, cut, seed);
      }
    }
    save(directory.path(), {1, 3}, Cut::last_is_empty, seed + 1);
    expect_loads(directory.path(), from, Cut::hybrid, seed + 1);
    seed += 2;
  }
}

TEST(Reshard, HybridStoresEachByteOnceSharedOutOverItsHolders) {
  const TempFolder directory;
  save(directory.path(), {2, 2}, Cut::hybrid, 7);
  const Manifest manifest = read_manifest(directory.path() / "step-00000007" / "COMMITTED.json");
  for (const TensorRecord& tensor : manifest.tensors) {
    std::int64_t stored = 0;
    for (const PieceRecord& piece : tensor.pieces) {
      EXPECT_EQ(piece.first, stored) << tensor.key;
      EXPECT_LE(std::abs(piece.numel - tensor.shape.numel() / 4), 1) << tensor.key;
      stored += piece.numel;
    }
    EXPECT_EQ(stored, tensor.shape.numel()) << tensor.key;
  }
}

TEST(Reshard, ADamagedReplicaIsFoundWhicheverRankReadsIt) {
  const TempFolder directory;
  save(directory.path(), {2, 2}, Cut::hybrid, 1);
  save(directory.path(), {2, 2}, Cut::hybrid, 2);
  const auto folder = directory.path() / "step-00000002";
  const Manifest manifest = read_manifest(folder / "COMMITTED.json");
  const auto& tensor = *std::find_if(manifest.tensors.begin(), manifest.tensors.end(),
                                     [](const auto& t) { return t.key == "model.bytes"; });
  {
    std::fstream file(folder / manifest.files[tensor.pieces[1].file].name,
                      std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(tensor.pieces[1].file_offset) + 10);
    file.put('x');
  }
  expect_loads(directory.path(), {2, 2}, Cut::hybrid, 1);
}

TEST(Reshard, HybridRangesMustBeHeldEquallyOften) {
  const TempFolder directory;
  on_ranks(2, 2, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    dtensor::StateDict state;
    add_tensor(state, ranks, "model.a", {10}, DType::f32, Cut::hybrid);
    if (ranks.rank() == 3) {
      dtensor::DTensor& tensor = state.tensors.at("model.a");
      tensor.spec.offset = 0;  // held three times now, the other half once
    }
    Checkpointer checkpointer(comms, {.directory = directory.path()});
    EXPECT_THROW((void)checkpointer.save_async(1, state), ArgumentError);
  });
}

}  // namespace
}  // namespace sherd::io::test
