#include <gtest/gtest.h>

#include <tuple>

#include "contract/communicator_contract.hpp"
#include "sherd/comm/backends.hpp"

namespace sherd {
namespace {

using Param = std::tuple<int, contract::CommunicatorCase>;

class InprocContract : public testing::TestWithParam<Param> {};

TEST_P(InprocContract, Holds) {
  const auto& [ranks, contract_case] = GetParam();
  comm::run_inproc(ranks, contract_case.run);
}

std::string case_name(const testing::TestParamInfo<Param>& info) {
  return std::get<1>(info.param).name + "_" + std::to_string(std::get<0>(info.param));
}

INSTANTIATE_TEST_SUITE_P(All, InprocContract,
                         testing::Combine(testing::Range(1, 6),
                                          testing::ValuesIn(contract::communicator_cases())),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Shared, InprocContract,
                         testing::Combine(testing::Range(1, 6),
                                          testing::ValuesIn(contract::shared_memory_cases())),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Mismatch, InprocContract,
                         testing::Combine(testing::Range(2, 6),
                                          testing::ValuesIn(contract::mismatch_cases())),
                         case_name);

}  // namespace
}  // namespace sherd
