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

TEST(NoRoom, AutoTakesMpiForAllCommunicatorsAndSaysSoOnce) {
  testing::internal::CaptureStderr();
  const comm::MeshComms comms = comm::make_mesh_comms("auto");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(comms.world->backend(), "mpi");
  EXPECT_EQ(comms.local->backend(), "mpi");
  const auto first = said.find("using backend mpi");
  EXPECT_EQ(first == std::string::npos, comms.world->rank() != 0) << said;
  EXPECT_EQ(said.find("using backend mpi", first + 1), std::string::npos) << said;
}

}  // namespace
}  // namespace sherd
