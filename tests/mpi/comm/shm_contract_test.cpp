#include <gtest/gtest.h>
#include <mpi.h>

#include "contract/communicator_contract.hpp"
#include "sherd/comm/mpi_interop.hpp"

namespace sherd {
namespace {

class ShmContract : public testing::TestWithParam<contract::CommunicatorCase> {};
class ShmMismatch : public testing::TestWithParam<contract::CommunicatorCase> {};

TEST_P(ShmContract, Holds) {
  const auto communicator = comm::make_shm(MPI_COMM_WORLD);
  EXPECT_EQ(communicator->backend(), "shm");
  GetParam().run(*communicator);
}

TEST_P(ShmMismatch, IsFound) {
  const auto communicator = comm::make_shm(MPI_COMM_WORLD);
  if (communicator->size() > 1) {  // one rank agrees with itself
    GetParam().run(*communicator);
  }
}

std::string case_name(const testing::TestParamInfo<contract::CommunicatorCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(All, ShmContract, testing::ValuesIn(contract::communicator_cases()),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Shared, ShmContract, testing::ValuesIn(contract::shared_memory_cases()),
                         case_name);
INSTANTIATE_TEST_SUITE_P(All, ShmMismatch, testing::ValuesIn(contract::mismatch_cases()),
                         case_name);

}  // namespace
}  // namespace sherd
