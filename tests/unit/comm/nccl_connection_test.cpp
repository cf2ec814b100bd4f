#include "comm/nccl/nccl_connection.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "comm/nccl/network_interfaces.hpp"
#include "sherd/base/error.hpp"
#include "sherd/base/host_name.hpp"
#include "support/fake_nccl.hpp"
#include "support/message_of.hpp"

namespace sherd {
namespace {

using comm::nccl::Connection;
using comm::nccl::Library;
using comm::nccl::Result;
using comm::nccl::UniqueId;
using io::test::message;
using test::FakeNccl;
using Calls = std::vector<std::string>;

constexpr std::chrono::milliseconds kShort{5};

Result gather(Library& library, Library::Comm* comm) {
  return library.all_gather(nullptr, nullptr, 0, DType::f32, comm, nullptr);
}

std::unique_ptr<Connection> connect(FakeNccl& nccl) {
  return std::make_unique<Connection>(nccl, UniqueId{}, 1, 4, kShort);
}

TEST(NcclConnection, PollsUntilAllHaveConnectedAndEndsInOrder) {
  FakeNccl nccl;
  nccl.init_result = Result::in_progress;
  nccl.states = {Result::in_progress, Result::in_progress};
  nccl.finalize_result = Result::in_progress;
  {
    const auto connection = connect(nccl);
    EXPECT_TRUE(nccl.states.empty());
    nccl.states = {Result::in_progress};
  }
  EXPECT_TRUE(nccl.states.empty()) << "destroyed before finalize was through";
  EXPECT_EQ(nccl.calls, (Calls{"init", "finalize", "destroy"}));
}

TEST(NcclConnection, RanksThatDoNotConnectAreGivenUpWithWhatToTry) {
  FakeNccl nccl;
  nccl.init_result = nccl.state = Result::in_progress;
  const std::string text = message<CommError>([&] { connect(nccl); });
  for (const std::string& part :
       {std::string("rank 1 of 4"), host_name(), comm::network_interfaces(),
        std::string("within 0.005 s"), std::string("NCCL_SOCKET_IFNAME"),
        std::string("NCCL_DEBUG=INFO")}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
  EXPECT_EQ(nccl.calls, (Calls{"init", "abort"}));
}

TEST(NcclConnection, AnErrorWhileConnectingAborts) {
  FakeNccl nccl;
  nccl.init_result = Result::in_progress;
  nccl.states = {Result::in_progress, Result::system_error};
  nccl.detail = "no route to host";
  const std::string text = message<CommError>([&] { connect(nccl); });
  EXPECT_NE(text.find("no route to host"), std::string::npos) << text;
  EXPECT_EQ(nccl.calls, (Calls{"init", "abort"}));
}

TEST(NcclConnection, TwoRanksOnOneGpuAreAConfigurationError) {
  FakeNccl nccl;
  nccl.init_result = Result::invalid_usage;
  nccl.detail = "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000";
  const std::string text = message<ConfigError>([&] { connect(nccl); });
  EXPECT_NE(text.find("rank 1"), std::string::npos) << text;
  EXPECT_NE(text.find("Try: as many ranks per node as there are GPUs"), std::string::npos) << text;
}

TEST(NcclConnection, AnOperationInProgressIsWaitedOut) {
  FakeNccl nccl;
  const auto connection = connect(nccl);
  nccl.operation_result = Result::in_progress;
  nccl.states = {Result::in_progress, Result::in_progress};
  connection->call("all_gather", gather);
  EXPECT_TRUE(nccl.states.empty());
  EXPECT_FALSE(connection->aborted());
}

TEST(NcclConnection, AnOperationThatFailsAbortsAndLaterOnesSaySo) {
  FakeNccl nccl;
  {
    const auto connection = connect(nccl);
    nccl.operation_result = Result::cuda_error;
    const std::string text =
        message<CommError>([&] { connection->call("all_gather of 3 x f32", gather); });
    EXPECT_NE(text.find("all_gather of 3 x f32 failed on rank 1 of 4"), std::string::npos) << text;
    EXPECT_TRUE(connection->aborted());
    EXPECT_THROW(connection->call("barrier", gather), CommError);
    EXPECT_THROW(connection->check("barrier"), CommError);
  }
  EXPECT_EQ(nccl.calls, (Calls{"init", "all_gather", "abort"}));
}

TEST(NcclConnection, AnOperationThatIsNeverTakenIsAborted) {
  FakeNccl nccl;
  const auto connection = connect(nccl);
  nccl.operation_result = nccl.state = Result::in_progress;
  EXPECT_THROW(connection->call("all_gather", gather), CommError);
  EXPECT_EQ(nccl.calls, (Calls{"init", "all_gather", "abort"}));
}

TEST(NcclConnection, AnErrorInTheBackgroundAborts) {
  FakeNccl nccl;
  const auto connection = connect(nccl);
  connection->check("all_gather");
  nccl.state = Result::in_progress;
  connection->check("all_gather");
  nccl.state = Result::remote_error;
  EXPECT_THROW(connection->check("all_gather"), CommError);
  EXPECT_EQ(nccl.calls, (Calls{"init", "abort"}));
}

TEST(NcclConnection, OneThatCannotEndInTimeIsAborted) {
  FakeNccl nccl;
  auto connection = connect(nccl);
  nccl.finalize_result = nccl.state = Result::in_progress;
  connection.reset();
  EXPECT_EQ(nccl.calls, (Calls{"init", "finalize", "abort"}));
}

TEST(NcclConnection, IsAbortedWhereAnExceptionLeaves) {
  FakeNccl nccl;
  try {
    const auto connection = connect(nccl);
    throw std::runtime_error("elsewhere");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(nccl.calls, (Calls{"init", "abort"}));
}

}  // namespace
}  // namespace sherd
