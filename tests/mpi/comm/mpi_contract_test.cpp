#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include "comm/mpi/mpi_api.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "comm/progress/threaded_communicator.hpp"
#include "contract/communicator_contract.hpp"
#include "sherd/base/error.hpp"
#include "sherd/comm/mpi_interop.hpp"

namespace sherd {
namespace {

class MpiContract : public testing::TestWithParam<contract::CommunicatorCase> {};

TEST_P(MpiContract, Holds) {
  const auto communicator = comm::make_mpi(MPI_COMM_WORLD);
  EXPECT_EQ(communicator->backend(), "mpi");
  GetParam().run(*communicator);
}

TEST_P(MpiContract, HoldsWithAThread) {
  comm::ThreadedCommunicator communicator(
      std::make_unique<comm::mpi::MpiCommunicator>(comm::mpi::comm_dup(MPI_COMM_WORLD)),
      std::make_shared<comm::ProgressThread>());
  EXPECT_EQ(communicator.backend(), "mpi");
  GetParam().run(communicator);
}

/// As if MPI could count to 4001 only: every larger message is cut.
TEST_P(MpiContract, HoldsWhenMessagesAreCut) {
  comm::mpi::MpiCommunicator communicator(comm::mpi::comm_dup(MPI_COMM_WORLD), 4001);
  if (GetParam().name.find("gathers") == std::string::npos) {
    GetParam().run(communicator);
    return;
  }
  std::vector<int> full(5000 * static_cast<std::size_t>(communicator.size()));
  const std::vector<int> shard(5000, communicator.rank());
  communicator.all_gather(shard.data(), full.data(), 5000, DType::i32).wait();
  for (std::size_t i = 0; i < full.size(); ++i) {
    ASSERT_EQ(full[i], static_cast<int>(i / 5000));
  }
}

std::string case_name(const testing::TestParamInfo<contract::CommunicatorCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(All, MpiContract, testing::ValuesIn(contract::communicator_cases()),
                         case_name);

TEST(Mpi, HasNoSharedMemory) {
  const auto communicator = comm::make_mpi(MPI_COMM_WORLD);
  EXPECT_EQ(communicator->allocate_shared(100), nullptr);
  EXPECT_EQ(communicator->make_epoch_board(1), nullptr);
}

TEST(Mpi, AnErrorOfMpiIsThrownAndNamed) {
  const auto comm = comm::mpi::comm_dup(MPI_COMM_WORLD);
  int value = 0;
  const int nobody = comm::mpi::comm_size(comm.get()) + 3;
  try {
    static_cast<void>(comm::mpi::isend(&value, 1, MPI_INT, nobody, 0, comm.get()));
    FAIL() << "nothing was thrown";
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("MPI_Isend failed"));
    EXPECT_THAT(error.what(), testing::ContainsRegex("MPI_ERR_RANK|Invalid rank"));
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("\n")));
  }
}

}  // namespace
}  // namespace sherd
