// The contract of Communicator on memory of an emulated device, under several schedules.
#include <gtest/gtest.h>

#include <tuple>

#include "contract/communicator_contract.hpp"
#include "sherd/comm/backends.hpp"
#include "sherd/runtime/emulated_device.hpp"
#include "support/over_device.hpp"

namespace sherd {
namespace {

using Param = std::tuple<int, contract::CommunicatorCase>;

class EmulatedContract : public testing::TestWithParam<Param> {};

TEST_P(EmulatedContract, Holds) {
  const auto& [ranks, contract_case] = GetParam();
  comm::run_inproc(ranks, [&, run = contract_case.run](comm::Communicator& host) {
    const auto seed = static_cast<std::uint64_t>(host.size() * 10 + host.rank());
    const auto device = runtime::make_emulated({.seed = seed});
    const runtime::DeviceScope scope(device);
    test::OverDevice comm(comm::make_on_device(host), device);
    run(comm);
  });
}

std::string case_name(const testing::TestParamInfo<Param>& info) {
  return std::get<1>(info.param).name + "_" + std::to_string(std::get<0>(info.param));
}

INSTANTIATE_TEST_SUITE_P(All, EmulatedContract,
                         testing::Combine(testing::Values(1, 3),
                                          testing::ValuesIn(contract::communicator_cases())),
                         case_name);

}  // namespace
}  // namespace sherd
