#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sherd/base/error.hpp"
#include "sherd/comm/mesh_comms.hpp"

// Run with SHERD_TEST_SHM_FREE=100000: as in a container whose /dev/shm is too small.

namespace sherd {
namespace {

TEST(NoRoom, ShmSaysHowMuchItNeedsOnAllRanks) {
  try {
    static_cast<void>(comm::make_mesh_comms("shm"));
    FAIL() << "nothing was thrown";
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("100000 bytes free"));
  }
}

TEST(NoRoom, AutoTakesMpi) { EXPECT_EQ(comm::make_mesh_comms("auto").world->backend(), "mpi"); }

}  // namespace
}  // namespace sherd
