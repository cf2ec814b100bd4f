#include <gtest/gtest.h>

#include "contract/communicator_contract.hpp"
#include "sherd/base/error.hpp"
#include "sherd/comm/backends.hpp"

namespace sherd {
namespace {

class SelfContract : public testing::TestWithParam<contract::CommunicatorCase> {};

TEST_P(SelfContract, Holds) {
  const auto communicator = comm::make_self();
  GetParam().run(*communicator);
}

std::string case_name(const testing::TestParamInfo<contract::CommunicatorCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(All, SelfContract, testing::ValuesIn(contract::communicator_cases()),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Shared, SelfContract, testing::ValuesIn(contract::shared_memory_cases()),
                         case_name);

TEST(Self, WaitingForAnEpochThatNobodyPostsIsAnErrorAtOnce) {
  const auto board = comm::make_self()->make_epoch_board(1);
  EXPECT_THROW(board->wait_all(0, 1, "nothing"), CommError);
}

}  // namespace
}  // namespace sherd
