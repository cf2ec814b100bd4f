#include "sherd/comm/backends.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "sherd/base/error.hpp"

namespace sherd {
namespace {

TEST(Backends, EachHasAStatusWithAReason) {
  const auto statuses = comm::backend_statuses();
  std::vector<std::string> names;
  for (const auto& status : statuses) {
    names.push_back(status.name);
    EXPECT_FALSE(status.reason.empty()) << status.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"self", "inproc", "shm", "mpi", "nccl"}));
  EXPECT_TRUE(statuses[0].available && statuses[1].available && statuses[3].available);
}

TEST(Backends, ShmSaysWhenThereIsNoRoom) {
  setenv("SHERD_TEST_SHM_FREE", "1000", 1);
  const auto shm = comm::backend_statuses()[2];
  unsetenv("SHERD_TEST_SHM_FREE");
  EXPECT_FALSE(shm.available);
  EXPECT_NE(shm.reason.find("1000 bytes free"), std::string::npos) << shm.reason;
}

TEST(Backends, NcclThatIsNotThereSaysWhy) {
  setenv("SHERD_DISABLE_NCCL", "1", 1);
  const auto status = comm::backend_statuses()[4];
  EXPECT_FALSE(status.available);
  const auto self = comm::make_self();
  try {
    static_cast<void>(comm::make_nccl(*self));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find(status.reason), std::string::npos) << error.what();
  }
  unsetenv("SHERD_DISABLE_NCCL");
}

}  // namespace
}  // namespace sherd
