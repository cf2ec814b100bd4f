// How operations on device memory are ordered, and how those end that nobody joins.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "comm/nccl/nccl_communicator.hpp"
#include "sherd/base/error.hpp"
#include "sherd/comm/backends.hpp"
#include "sherd/runtime/emulated_device.hpp"
#include "support/fake_nccl.hpp"
#include "support/message_of.hpp"
#include "support/over_device.hpp"

namespace sherd {
namespace {

using comm::Communicator;
using comm::ReduceOp;
using comm::nccl::NcclCommunicator;
using comm::nccl::Result;
using runtime::MemoryKind;

constexpr std::size_t kCount = 1000;

runtime::EmulatedStream& compute(runtime::Device& device) {
  return *runtime::as_emulated(device.compute_stream());
}

/// Work on the compute stream that takes some turns of the others.
void fill_late(runtime::Device& device, float* data, float value) {
  auto turns = std::make_shared<int>(3);
  compute(device).run_polled([] {}, [turns] { return --*turns <= 0; });
  compute(device).execute([=] { std::fill(data, data + kCount, value); });
}

/// Runs `body` on the ranks, each with a device, for schedules that differ.
template <class Body>
void on_devices(int ranks, const Body& body) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    comm::run_inproc(ranks, [&](Communicator& host) {
      const auto device =
          runtime::make_emulated({.seed = seed * 100 + static_cast<std::uint64_t>(host.rank())});
      const runtime::DeviceScope scope(device);
      body(host, *device);
    });
  }
}

TEST(DeviceOrder, OperationsComeAfterTheWorkThatWritesTheirInput) {
  on_devices(2, [](Communicator& host, runtime::Device& device) {
    const auto comm = comm::make_on_device(host);
    const auto memory = test::device_block(device, MemoryKind::device, kCount * sizeof(float));
    auto* data = reinterpret_cast<float*>(memory.get());
    fill_late(device, data, 2.0F);
    comm->all_reduce(data, data, kCount, DType::f32, ReduceOp::sum).wait();
    float last = 0.0F;
    compute(device).execute([&, data] { last = data[kCount - 1]; });
    device.synchronize();
    EXPECT_EQ(last, 4.0F);
  });
}

TEST(DeviceOrder, WaitHoldsTheComputeStreamAndNotTheHost) {
  on_devices(2, [](Communicator& host, runtime::Device& device) {
    const auto comm = comm::make_on_device(host);
    const auto memory = test::device_block(device, MemoryKind::device, kCount * sizeof(float));
    auto* data = reinterpret_cast<float*>(memory.get());
    bool open = false;
    compute(device).execute([data] { std::fill(data, data + kCount, 1.0F); });
    compute(device).run_polled([] {}, [&] { return open; });
    comm::Work work = comm->all_reduce(data, data, kCount, DType::f32, ReduceOp::sum);
    EXPECT_FALSE(work.test());
    work.wait();
    EXPECT_FALSE(open);
    open = true;
    float last = 0.0F;
    compute(device).execute([&, data] { last = data[kCount - 1]; });
    device.synchronize();
    EXPECT_EQ(last, 2.0F);
  });
}

TEST(DeviceOrder, SynchronizeHoldsTheHost) {
  on_devices(2, [](Communicator& host, runtime::Device& device) {
    const auto comm = comm::make_on_device(host);
    const auto memory = test::device_block(device, MemoryKind::device, kCount * sizeof(float));
    auto* data = reinterpret_cast<float*>(memory.get());
    bool filled = false;
    fill_late(device, data, 1.0F);
    compute(device).execute([&] { filled = true; });
    comm::Work work = comm->all_reduce(data, data, kCount, DType::f32, ReduceOp::sum);
    EXPECT_FALSE(filled);
    work.synchronize();
    EXPECT_TRUE(filled);
  });
}

/// Two communicators may be used at once, in different orders on different ranks' streams.
TEST(DeviceOrder, CommunicatorsDoNotHoldEachOther) {
  on_devices(3, [](Communicator& host, runtime::Device& device) {
    const auto first = comm::make_on_device(host);
    const auto second = first->duplicate();
    const auto memory = test::device_block(device, MemoryKind::device, 8 * kCount * sizeof(float));
    auto* data = reinterpret_cast<float*>(memory.get());
    std::vector<comm::Work> works;
    for (int i = 0; i < 4; ++i) {
      float* a = data + 2 * static_cast<std::size_t>(i) * kCount;
      fill_late(device, a, static_cast<float>(i));
      fill_late(device, a + kCount, 10.0F);
      works.push_back(first->all_reduce(a, a, kCount, DType::f32, ReduceOp::sum));
      works.push_back(
          second->all_reduce(a + kCount, a + kCount, kCount, DType::f32, ReduceOp::sum));
    }
    for (comm::Work& work : works) {
      work.wait();
    }
    std::vector<float> seen(8);
    compute(device).execute([&, data] {
      for (std::size_t i = 0; i < 8; ++i) {
        seen[i] = data[i * kCount + 7];
      }
    });
    device.synchronize();
    EXPECT_EQ(seen, (std::vector<float>{0, 30, 3, 30, 6, 30, 9, 30}));
  });
}

/// A host that waits for other ranks keeps its device going: they may wait for what is queued.
TEST(DeviceOrder, WaitingForTheHostsOfOtherRanksLetsTheDeviceGoOn) {
  on_devices(2, [](Communicator& host, runtime::Device& device) {
    const auto comm = comm::make_on_device(host);
    const auto memory = test::device_block(device, MemoryKind::device, kCount * sizeof(float));
    auto* data = reinterpret_cast<float*>(memory.get());
    fill_late(device, data, 1.0F);
    comm::Work work = comm->all_reduce(data, data, kCount, DType::f32, ReduceOp::sum);
    if (host.rank() == 0) {
      work.synchronize();
    }
    host.barrier();
    work.synchronize();
  });
}

class NcclOnDevice : public testing::Test {
 protected:
  /// An operation that nobody joins: it ends when the communicator is aborted.
  class StuckNccl : public test::FakeNccl {
   public:
    runtime::EmulatedStream* stream = nullptr;

    Result all_reduce(const void*, void*, std::size_t, DType, ReduceOp, Comm*, void*) override {
      stream->run_polled([] {}, [this] { return called("abort"); });
      return noted("all_reduce", Result::success);
    }
  };

  NcclOnDevice() : device_(runtime::make_emulated()), scope_(device_) {
    setenv("SHERD_COMM_TIMEOUT", "0.05", 1);
    comm_ = std::make_unique<NcclCommunicator>(nccl_, comm::make_self(), device_);
    nccl_.stream = runtime::as_emulated(comm_->capabilities().device->stream());
    memory_ = test::device_block(*device_, MemoryKind::device, 64);
  }
  ~NcclOnDevice() override {
    nccl_.state = Result::success;
    comm_.reset();
    unsetenv("SHERD_COMM_TIMEOUT");
  }

  comm::Work reduce() {
    return comm_->all_reduce(memory_.get(), memory_.get(), 4, DType::f32, ReduceOp::sum);
  }

  StuckNccl nccl_;
  std::shared_ptr<runtime::Device> device_;
  runtime::DeviceScope scope_;
  std::unique_ptr<NcclCommunicator> comm_;
  std::shared_ptr<std::byte> memory_;
};

TEST_F(NcclOnDevice, AStuckOperationEndsTheHostsWaitAndIsAborted) {
  reduce().wait();
  Communicator* const watched = comm_.get();
  const std::string message = io::test::message<CommError>([&] {
    comm::wait_on_host(device_->compute_stream().record(), {&watched, 1});
  });
  EXPECT_NE(message.find("all_reduce of 4 x f32 was not complete after 0.05 s"), std::string::npos)
      << message;
  EXPECT_TRUE(nccl_.called("abort"));
  device_->synchronize();  // nothing hangs
  EXPECT_THROW(reduce(), CommError);
}

TEST_F(NcclOnDevice, AnErrorOfAnotherRankEndsTheHostsWaitAtOnce) {
  reduce().wait();
  nccl_.on_ask = [this] { nccl_.state = Result::remote_error; };
  Communicator* const watched = comm_.get();
  const std::string message = io::test::message<CommError>([&] {
    comm::wait_on_host(device_->compute_stream().record(), {&watched, 1});
  });
  EXPECT_NE(message.find("all_reduce of 4 x f32 failed on rank 0 of 1: result 6"),
            std::string::npos)
      << message;
  EXPECT_TRUE(nccl_.called("abort"));
}

TEST_F(NcclOnDevice, SynchronizeOfAStuckWorkAborts) {
  comm::Work work = reduce();
  EXPECT_FALSE(work.test());
  EXPECT_THROW(work.synchronize(), CommError);
  EXPECT_TRUE(nccl_.called("abort"));
}

TEST_F(NcclOnDevice, WaitSeesWhatHasFailedInTheBackground) {
  comm::Work work = reduce();
  nccl_.state = Result::system_error;
  EXPECT_THROW(work.wait(), CommError);
}

}  // namespace
}  // namespace sherd
