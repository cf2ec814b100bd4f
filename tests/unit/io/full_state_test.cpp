#include <gmock/gmock.h>

#include <fstream>

#include "sherd/base/error.hpp"
#include "sherd/io/full_state.hpp"
#include "sherd/io/safetensors.hpp"
#include "support/block_world.hpp"
#include "support/file_size_limit.hpp"
#include "support/inproc_ranks.hpp"
#include "support/message_of.hpp"
#include "support/temp_folder.hpp"

namespace sherd::io::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

using Mesh = std::pair<int, int>;  // nodes, ranks per node

dtensor::StateDict make_full(const comm::Ranks& ranks, Cut cut, const BlockGrid& grid) {
  dtensor::StateDict state = make_state(ranks, cut);
  dtensor::StateDict mixed = make_mixed_state(ranks, grid);
  mixed.tensors.erase("model.scalar");
  mixed.tensors.erase("model.nothing");
  state.tensors.merge(mixed.tensors);
  return state;
}

class FullState : public ::testing::TestWithParam<FullFormat> {
 protected:
  fs::path file() const { return directory_.path() / "state.bin"; }
  TempFolder directory_;
};

TEST_P(FullState, AnyRanksAndCutsLoadWhatOthersSaved) {
  const std::tuple<Mesh, Cut, BlockGrid> savers[] = {{{1, 1}, Cut::even, {1}},
                                                     {{1, 3}, Cut::last_is_empty, {3}},
                                                     {{2, 2}, Cut::hybrid, {2}},
                                                     {{1, 4}, Cut::replicated, {4, true}}};
  for (const auto& [from, cut, grid] : savers) {
    on_ranks(from.first, from.second, [&, cut = cut, grid = grid](comm::MeshComms& comms) {
      dtensor::StateDict state = make_full({comms.world.get(), &comms.mesh}, cut, grid);
      fill_any(state, 3);
      save_full_state(comms, state, file(), {.format = GetParam()});
    });
    for (const auto& [to, other, rows] : savers) {
      on_ranks(to.first, to.second, [&, other = other, rows = rows](comm::MeshComms& comms) {
        dtensor::StateDict state =
            make_full({comms.world.get(), &comms.mesh}, other, {rows.rows, !rows.transposed});
        const auto random = state.per_rank["random"];
        state.common.clear();
        const LoadReport report = load_full_state(comms, file(), state);
        expect_filled_any(state, 3);
        EXPECT_EQ(state.per_rank["random"], random);
        EXPECT_EQ(state.common.at("step"), "7");
        EXPECT_GT(report.bytes_read, 270'000U);
      });
    }
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), {}), 1);
}

TEST_P(FullState, OnlyWhatIsSelectedIsWrittenAndLoaded) {
  const auto fields = [](const std::string& key) { return key.starts_with("field."); };
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    dtensor::StateDict state = make_mixed_state(ranks, {2});
    fill_any(state, 1);
    save_full_state(comms, state, file(), {.format = GetParam(), .select = fields});
    dtensor::StateDict loaded = make_mixed_state(ranks, {1});
    fill_any(loaded, 2);
    EXPECT_THAT(message<ConfigError>([&] { load_full_state(comms, file(), loaded); }),
                HasSubstr("'model.copied' is not in it"));
    const LoadReport loose = load_full_state(comms, file(), loaded, {.strict = false});
    EXPECT_EQ(loose.missing.size(), 5U);
    load_full_state(comms, file(), loaded, {.select = fields});
    std::erase_if(loaded.tensors, [&](const auto& item) { return !fields(item.first); });
    expect_filled_any(loaded, 1);
  });
}

TEST_P(FullState, DifferencesAreNamedOnAllRanks) {
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    dtensor::StateDict state;
    add_tensor(state, ranks, "model.a", {4, 3}, DType::f32, Cut::even);
    for (float& value : state.tensors["model.a"].local.span<float>()) {
      value = 1.5F;
    }
    save_full_state(comms, state, file(), {.format = GetParam()});
    dtensor::StateDict other;
    add_tensor(other, ranks, "model.a", {12}, DType::f32, Cut::even);
    EXPECT_THAT(message<ConfigError>([&] { load_full_state(comms, file(), other); }),
                HasSubstr("'model.a' has shape [4, 3] there and [12] here"));
    EXPECT_EQ(load_full_state(comms, file(), other, {.strict = false}).mismatched.size(), 1U);
    other.tensors.clear();
    add_tensor(other, ranks, "model.a", {4, 3}, DType::bf16, Cut::last_is_empty);
    EXPECT_THAT(message<ConfigError>([&] { load_full_state(comms, file(), other); }),
                HasSubstr("'model.a' is f32 there and bf16 here"));
    EXPECT_THROW(load_full_state(comms, file(), other, {.strict = false}), ConfigError);
    const LoadReport report = load_full_state(comms, file(), other, {.allow_cast = true});
    EXPECT_EQ(report.cast.size(), 1U);
    for (const BFloat16 value : other.tensors["model.a"].local.span<BFloat16>()) {
      EXPECT_EQ(static_cast<float>(value), 1.5F);
    }
  });
}

TEST_P(FullState, AnyNameOfATiedTensorWillDo) {
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    dtensor::StateDict state;
    add_tensor(state, ranks, "model.head", {4, 3}, DType::f32, Cut::even);
    state.tensors["model.head"].spec.aliases = {"embed"};
    fill_any(state, 4);
    save_full_state(comms, state, file(), {.format = GetParam()});
    dtensor::StateDict other;
    add_tensor(other, ranks, "model.embed", {4, 3}, DType::f32, Cut::replicated);
    other.tensors["model.embed"].spec.aliases = {"head"};
    load_full_state(comms, file(), other);
    expect_filled_any(other, 4);
    if (GetParam() == FullFormat::hdf5) {  // has the other name as a link
      other.tensors["model.embed"].spec.aliases.clear();
      fill_any(other, 5);
      load_full_state(comms, file(), other);
      expect_filled_any(other, 4);
    }
  });
}

TEST_P(FullState, AFailureLeavesTheOldFileAndReachesAllRanks) {
  on_ranks(1, 3, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    dtensor::StateDict state = make_mixed_state(ranks, {3});
    fill_any(state, 1);
    save_full_state(comms, state, file(), {.format = GetParam()});
    if (ranks.rank() == 1) {
      state.tensors["model.flat"].local = Tensor();
    }
    EXPECT_THAT(message<ArgumentError>(
                    [&] { save_full_state(comms, state, file(), {.format = GetParam()}); }),
                HasSubstr("rank 1"));
    state = make_mixed_state(ranks, {3});
    const fs::path mine = ranks.rank() == 2 ? directory_.path() / "other" : file();
    EXPECT_THAT(message<ConfigError>([&] { save_full_state(comms, state, mine); }),
                HasSubstr("different files"));
    EXPECT_THAT(message<IoError>([&] {
                  save_full_state(comms, state, directory_.path() / "no/file",
                                  {.format = GetParam()});
                }),
                HasSubstr("no/file"));
    load_full_state(comms, file(), state);
    expect_filled_any(state, 1);
  });
}

INSTANTIATE_TEST_SUITE_P(Formats, FullState,
                         ::testing::Values(FullFormat::safetensors, FullFormat::hdf5));

TEST(FullStateFile, TheSafetensorsReaderReadsIt) {
  const TempFolder directory;
  const fs::path file = directory.path() / "model.safetensors";
  on_ranks(2, 2, [&](comm::MeshComms& comms) {
    dtensor::StateDict state = make_mixed_state({comms.world.get(), &comms.mesh}, {2});
    fill_any(state, 6);
    save_full_state(comms, state, file);
  });
  const SafetensorsReader reader(file);
  EXPECT_EQ(reader.entries().size(), 9U);
  EXPECT_EQ(reader.entries().at("field.cube").shape, (Shape{5, 7, 3}));
  const Tensor plane = Tensor::empty({143}, DType::bf16);
  reader.read("field.plane", 0, plane);
  for (std::int64_t i = 0; i < 286; ++i) {
    ASSERT_EQ(plane.raw()[i], pattern(6, i));
  }
}

TEST(FullStateFile, FilesOfAnotherKindAreRefused) {
  const TempFolder directory;
  const fs::path file = directory.path() / "notes.txt";
  std::ofstream(file) << "some notes, long enough for a length and more";
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    dtensor::StateDict state = make_mixed_state({comms.world.get(), &comms.mesh}, {2});
    EXPECT_THAT(message<ConfigError>([&] { load_full_state(comms, file, state); }),
                HasSubstr("notes.txt"));
    EXPECT_THAT(
        message<ConfigError>([&] { load_full_state(comms, directory.path() / "none", state); }),
        HasSubstr("none"));
    Checkpointer checkpointer(comms, {.directory = directory.path() / "steps"});
    checkpointer.save_async(1, state).wait();
    const fs::path index = directory.path() / "steps/step-00000001/index.h5";
    EXPECT_THAT(message<ConfigError>([&] { load_full_state(comms, index, state); }),
                HasSubstr("is not contiguous"));
  });
}

TEST(FullStateFile, ASaveWithoutRoomLeavesNothingBehind) {
  const TempFolder directory;
  const sherd::test::FileSizeLimit limit(4096);
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    dtensor::StateDict state = make_state({comms.world.get(), &comms.mesh}, Cut::even);
    EXPECT_THAT(message<IoError>([&] { save_full_state(comms, state, directory.path() / "s"); }),
                HasSubstr("File too large"));
  });
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

TEST(StateDictTypes, HavePyTorchsNames) {
  for (const StateDictType type :
       {StateDictType::full_state_dict, StateDictType::sharded_state_dict,
        StateDictType::local_state_dict}) {
    EXPECT_EQ(parse_state_dict_type(to_string(type)), type);
  }
  EXPECT_EQ(to_string(StateDictType::sharded_state_dict), "SHARDED_STATE_DICT");
  EXPECT_THROW((void)parse_state_dict_type("full"), ConfigError);
}

}  // namespace
}  // namespace sherd::io::test
