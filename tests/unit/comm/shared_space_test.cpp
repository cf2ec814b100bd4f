#include "comm/shm/shared_space.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "sherd/base/error.hpp"

namespace sherd {
namespace {

TEST(SharedSpace, TooLittleIsOneLineWithTheSizeNeeded) {
  setenv("SHERD_TEST_SHM_FREE", "67108864", 1);
  comm::require_shared_space(67108864);
  try {
    comm::require_shared_space(67108865);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("67108864 bytes free and 67108865 are needed"));
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("\n")));
  }
  unsetenv("SHERD_TEST_SHM_FREE");
}

TEST(SharedSpace, TheRealFileSystemHasRoomForOneByte) { comm::require_shared_space(1); }

}  // namespace
}  // namespace sherd
