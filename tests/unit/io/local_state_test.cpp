#include <gmock/gmock.h>

#include "sherd/base/error.hpp"
#include "sherd/io/full_state.hpp"
#include "support/block_world.hpp"
#include "support/inproc_ranks.hpp"
#include "support/message_of.hpp"
#include "support/temp_folder.hpp"

namespace sherd::io::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

using Mesh = std::pair<int, int>;  // nodes, ranks per node

class LocalState : public ::testing::Test {
 protected:
  fs::path folder() const { return directory_.path() / "local"; }
  void save(Mesh mesh, std::uint64_t seed) {
    on_ranks(mesh.first, mesh.second, [&](comm::MeshComms& comms) {
      dtensor::StateDict state = make_mixed_state({comms.world.get(), &comms.mesh}, {2});
      fill_any(state, seed);
      save_local_state(comms, state, folder());
    });
  }
  TempFolder directory_;
};

TEST_F(LocalState, TheSameRanksGetTheirPartsBack) {
  save({2, 2}, 8);
  save({2, 2}, 9);
  on_ranks(2, 2, [&](comm::MeshComms& comms) {
    const comm::Ranks ranks{comms.world.get(), &comms.mesh};
    dtensor::StateDict state = make_mixed_state(ranks, {2});
    const auto random = std::exchange(state.per_rank["random"], {});
    state.common.clear();
    load_local_state(comms, folder(), state);
    expect_filled_any(state, 9);
    EXPECT_EQ(state.per_rank["random"], random);
    EXPECT_EQ(state.common.at("step"), "three");
    EXPECT_EQ(state.common.size(), 2U);
  });
}

TEST_F(LocalState, OtherRanksOrPartsAreRefused) {
  save({2, 2}, 8);
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    dtensor::StateDict state = make_mixed_state({comms.world.get(), &comms.mesh}, {2});
    EXPECT_THAT(message<ConfigError>([&] { load_local_state(comms, folder(), state); }),
                HasSubstr("world_size was 4, now 2"));
  });
  on_ranks(2, 2, [&](comm::MeshComms& comms) {
    dtensor::StateDict state = make_mixed_state({comms.world.get(), &comms.mesh}, {4});
    EXPECT_THAT(message<ConfigError>([&] { load_local_state(comms, folder(), state); }),
                HasSubstr("tensor 'field.cube' is f64 block [0,0,0] + [3,4,3]"));
    EXPECT_THAT(message<ConfigError>([&] { load_local_state(comms, folder() / "no", state); }),
                HasSubstr("rank-00000.safetensors"));
  });
}

TEST_F(LocalState, AMixtureOfTwoSavesIsRefused) {
  save({1, 2}, 8);
  const fs::path old = directory_.path() / "old";
  fs::copy_file(folder() / "rank-00001.safetensors", old);
  save({1, 2}, 9);
  fs::rename(old, folder() / "rank-00001.safetensors");
  on_ranks(1, 2, [&](comm::MeshComms& comms) {
    dtensor::StateDict state = make_mixed_state({comms.world.get(), &comms.mesh}, {2});
    EXPECT_THAT(message<ConfigError>([&] { load_local_state(comms, folder(), state); }),
                HasSubstr("different saves"));
  });
}

}  // namespace
}  // namespace sherd::io::test
