#include <gmock/gmock.h>

#include <cstddef>
#include <fstream>
#include <span>
#include <string>
#include <utility>

#include "io/format/manifest.hpp"
#include "io/load/match.hpp"
#include "sherd/base/error.hpp"
#include "support/checkpoint_world.hpp"
#include "support/cut_tensors.hpp"
#include "support/inproc_ranks.hpp"
#include "support/sanitizer.hpp"
#include "support/temp_folder.hpp"

/// What any number of ranks saved in any layout and cut, any number loads in any cut, bit for bit.
namespace sherd::io::test {
namespace {

using Mesh = std::pair<int, int>;  // nodes, ranks per node
constexpr Mesh kMeshes[] = {{2, 2}, {1, 3}, {2, 1}, {1, 1}, {3, 2}, {2, 4}};

/// All of them, or the first few that differ in kind where everything is slow.
template <class T, std::size_t n>
std::span<const T> as_time_allows(const T (&all)[n], std::size_t few) {
  return std::span<const T>(all).first(sherd::testing::kSanitized ? few : n);
}

/// One tensor for each pair of a cut that saves and a cut that loads; `turn` moves shapes and
/// dtypes on, so that other pairs meet them.
template <class CutOf>
dtensor::StateDict state_of_pairs(const comm::Ranks& ranks, std::size_t turn, CutOf cut_of) {
  static const Shape kShapes[] = {{37, 19}, {5},           {3, 5, 7}, Shape{},
                                  {0, 7},   {2, 3, 1, 11}, {1, 13}};
  constexpr DType kDtypes[] = {DType::f32, DType::bf16, DType::u8, DType::i64};
  dtensor::StateDict state;
  std::size_t number = turn;
  for (const AnyCut saved : kAllCuts) {
    for (const AnyCut loaded : kAllCuts) {
      const std::string name = "from_" + std::to_string(static_cast<int>(saved)) + ".to_" +
                               std::to_string(static_cast<int>(loaded));
      state.tensors["model." + name] =
          cut_tensor(ranks, name, kShapes[number % std::size(kShapes)],
                     kDtypes[number % std::size(kDtypes)], cut_of(saved, loaded));
      ++number;
    }
  }
  return state;
}

void fill_pairs(const dtensor::StateDict& state, std::uint64_t seed) {
  for (const auto& [key, tensor] : state.tensors) {
    fill_cut(tensor, seed);
  }
}

void expect_pairs(const dtensor::StateDict& state, std::uint64_t seed) {
  for (const auto& [key, tensor] : state.tensors) {
    EXPECT_EQ(wrong_bytes(tensor, seed), 0) << key;
  }
}

class RoundTrip : public ::testing::TestWithParam<Layout> {};

TEST_P(RoundTrip, AnyWorldAndCutLoadsWhatAnyOtherSaved) {
  std::size_t turn = 0;
  for (const Mesh& from : as_time_allows(kMeshes, 3)) {
    const TempFolder directory(kMemory);
    ++turn;
    on_ranks(from.first, from.second, [&](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      dtensor::StateDict state =
          state_of_pairs(ranks, turn, [](AnyCut saved, AnyCut) { return saved; });
      fill_pairs(state, turn);
      Checkpointer checkpointer(comms, {.directory = directory.path(), .layout = GetParam()});
      checkpointer.save_async(1, state).wait();
    });
    for (const Mesh& to : as_time_allows(kMeshes, 3)) {
      on_ranks(to.first, to.second, [&](comm::MeshComms& comms) {
        const comm::Ranks ranks{comms.world.get(), &comms.mesh};
        dtensor::StateDict state =
            state_of_pairs(ranks, turn, [](AnyCut, AnyCut loaded) { return loaded; });
        Checkpointer checkpointer(comms, {.directory = directory.path()});
        ASSERT_TRUE(checkpointer.load_latest(state));
        expect_pairs(state, turn);
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, RoundTrip,
                         ::testing::Values(Layout::per_node, Layout::per_rank,
                                           Layout::single_file));

/// Larger than one read, one digest of a block and one part of a replicated tensor.
dtensor::StateDict large_state(const comm::Ranks& ranks, AnyCut cut) {
  dtensor::StateDict state;
  state.tensors["a.cube"] = cut_tensor(ranks, "cube", {67, 80, 97}, DType::f32, cut);
  state.tensors["a.long"] = cut_tensor(ranks, "long", {5'000'011}, DType::u8, cut);
  return state;
}

TEST(LargeTensors, AreReadInPartsWhateverTheCuts) {
  constexpr std::pair<AnyCut, AnyCut> kPairs[] = {
      {AnyCut::grid, AnyCut::columns},    {AnyCut::even, AnyCut::replicated},
      {AnyCut::columns, AnyCut::even},    {AnyCut::even, AnyCut::grid},
      {AnyCut::even, AnyCut::even},       {AnyCut::grid, AnyCut::grid},
      {AnyCut::rows, AnyCut::replicated}, {AnyCut::replicated, AnyCut::hybrid}};
  for (const auto& [saved, loaded] : as_time_allows(kPairs, 2)) {
    const TempFolder directory;
    on_ranks(2, 2, [&, cut = saved](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      dtensor::StateDict state = large_state(ranks, cut);
      fill_pairs(state, 3);
      Checkpointer(comms, {.directory = directory.path()}).save_async(1, state).wait();
    });
    on_ranks(1, 3, [&, cut = loaded](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      dtensor::StateDict state = large_state(ranks, cut);
      ASSERT_TRUE(Checkpointer(comms, {.directory = directory.path()}).load_latest(state));
      expect_pairs(state, 3);
    });
  }
}

/// Flips a byte in the middle of a piece.
void damage(const std::filesystem::path& folder, const std::string& key, std::size_t piece) {
  const Manifest manifest = read_manifest(folder / "COMMITTED.json");
  const TensorRecord& tensor = *find_tensor(manifest, key);
  const PieceRecord& hit = tensor.pieces.at(piece);
  std::fstream file(folder / manifest.files[hit.file].name,
                    std::ios::binary | std::ios::in | std::ios::out);
  const auto at = static_cast<std::streamoff>(
      hit.file_offset + static_cast<std::uint64_t>(hit.numel) * size_of(tensor.dtype) / 2);
  file.seekg(at);
  const int byte = file.get() ^ 1;
  file.seekp(at);
  file.put(static_cast<char>(byte));
}

TEST(DamagedParts, AreFoundWhoeverReadsThemAndOnlyWhenAsked) {
  for (const AnyCut saved : {AnyCut::grid, AnyCut::even}) {
    const TempFolder directory;
    const auto step = directory.path() / "step-00000001";
    on_ranks(2, 2, [&](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      dtensor::StateDict state = large_state(ranks, saved);
      fill_pairs(state, 3);
      Checkpointer(comms, {.directory = directory.path()}).save_async(1, state).wait();
    });
    damage(step, "a.cube", 1);
    for (const AnyCut wanted : {AnyCut::columns, AnyCut::replicated, AnyCut::last_is_empty}) {
      on_ranks(1, 3, [&](comm::MeshComms& comms) {
        const comm::Ranks ranks{comms.world.get(), &comms.mesh};
        dtensor::StateDict state = large_state(ranks, wanted);
        Checkpointer checkpointer(comms, {.directory = directory.path()});
        EXPECT_THAT([&] { (void)checkpointer.load(step, state); },
                    ::testing::ThrowsMessage<IoError>(
                        ::testing::HasSubstr("tensor 'a.cube' of rank 1 in 'shards/")));
        EXPECT_EQ(checkpointer.load(step, state, {.verify = false}).step, 1);
        EXPECT_EQ(wrong_bytes(state.tensors["a.long"], 3), 0);
        EXPECT_LE(wrong_bytes(state.tensors["a.cube"], 3), 1);
      });
    }
  }
}

/// What a checkpoint stores of tensors.
std::uint64_t stored_bytes(const std::filesystem::path& folder) {
  const Manifest manifest = read_manifest(folder / "COMMITTED.json");
  std::uint64_t bytes = 0;
  for (const TensorRecord& tensor : manifest.tensors) {
    bytes += static_cast<std::uint64_t>(tensor.shape.numel()) * size_of(tensor.dtype);
  }
  return bytes;
}

TEST(ReadOnce, EachByteIsReadOnceANodeWhoeverWantsIt) {
  const TempFolder directory;
  on_ranks(2, 2, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    dtensor::StateDict state = state_of_pairs(ranks, 0, [](AnyCut saved, AnyCut) { return saved; });
    state.tensors["a.long"] = cut_tensor(ranks, "long", {1500, 1001}, DType::u8, AnyCut::grid);
    Checkpointer(comms, {.directory = directory.path()}).save_async(1, state).wait();
  });
  const std::uint64_t bytes = stored_bytes(directory.path() / "step-00000001");
  const auto bytes_read = [&](Mesh mesh, auto cut_of) {
    std::uint64_t read = 0;
    on_ranks(mesh.first, mesh.second, [&](comm::MeshComms& comms) {
      const comm::Ranks ranks{comms.world.get(), &comms.mesh};
      dtensor::StateDict state = state_of_pairs(ranks, 0, cut_of);
      state.tensors["a.long"] =
          cut_tensor(ranks, "long", {1500, 1001}, DType::u8, cut_of(AnyCut::grid, AnyCut::columns));
      const auto report = Checkpointer(comms, {.directory = directory.path()}).load_latest(state);
      ASSERT_TRUE(report.has_value());
      if (ranks.rank() == 0) {
        read = report->bytes_read;
      }
    });
    return read;
  };
  EXPECT_EQ(bytes_read({1, 4}, [](AnyCut, AnyCut loaded) { return loaded; }), bytes);
  EXPECT_EQ(bytes_read({1, 3}, [](AnyCut, AnyCut) { return AnyCut::replicated; }), bytes);
  EXPECT_EQ(bytes_read({1, 3}, [](AnyCut, AnyCut) { return AnyCut::columns; }), bytes);
  EXPECT_EQ(bytes_read({2, 2}, [](AnyCut, AnyCut) { return AnyCut::replicated; }), 2 * bytes);
}

}  // namespace
}  // namespace sherd::io::test
