#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

#include "contract/cases.hpp"
#include "contract/elements.hpp"
#include "sherd/base/error.hpp"

namespace sherd::contract {
namespace {

using comm::Communicator;
using comm::ReduceOp;
using comm::Work;

constexpr std::size_t kCount = 20000;

void test_becomes_true(Communicator& comm) {
  std::vector<float> data(kCount, 1.0F);
  Work work = comm.all_reduce(data.data(), data.data(), kCount, DType::f32, ReduceOp::sum);
  while (!work.test()) {
  }
  EXPECT_EQ(data[kCount - 1], static_cast<float>(comm.size()));
  EXPECT_TRUE(work.test());
  work.wait();
}

void dropped_work_is_finished(Communicator& comm) {
  std::vector<float> data(kCount, 1.0F);
  {
    const Work work = comm.all_reduce(data.data(), data.data(), kCount, DType::f32, ReduceOp::sum);
  }
  EXPECT_EQ(data[kCount - 1], static_cast<float>(comm.size()));
}

void moved_work_is_finished_once(Communicator& comm) {
  std::vector<float> first(kCount, 1.0F);
  std::vector<float> second(kCount, 2.0F);
  Work work = comm.all_reduce(first.data(), first.data(), kCount, DType::f32, ReduceOp::sum);
  Work other = std::move(work);
  work = comm.all_reduce(second.data(), second.data(), kCount, DType::f32, ReduceOp::sum);
  other = std::move(work);  // finishes the first
  EXPECT_EQ(first[0], static_cast<float>(comm.size()));
  other.wait();
  EXPECT_EQ(second[0], 2.0F * static_cast<float>(comm.size()));
}

/// Several operations under way, waited for in another order than issued.
void operations_overlap(Communicator& comm) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto value = static_cast<float>(comm.rank() + 1);
  const auto sum = static_cast<float>(ranks * (ranks + 1) / 2);
  std::vector<float> shard(kCount, value);
  std::vector<float> gathered(kCount * ranks);
  std::vector<float> reduced(kCount * ranks, value);
  std::vector<float> total(kCount, value);
  Work gather = comm.all_gather(shard.data(), gathered.data(), kCount, DType::f32);
  float* mine = reduced.data() + kCount * static_cast<std::size_t>(comm.rank());
  Work scatter = comm.reduce_scatter(reduced.data(), mine, kCount, DType::f32, ReduceOp::sum);
  Work reduce = comm.all_reduce(total.data(), total.data(), kCount, DType::f32, ReduceOp::sum);
  reduce.wait();
  gather.wait();
  scatter.wait();
  EXPECT_EQ(gathered[kCount * ranks - 1], static_cast<float>(ranks));
  EXPECT_EQ(mine[kCount - 1], sum);
  EXPECT_EQ(total[0], sum);
}

void duplicate_is_independent(Communicator& comm) {
  const auto twin = comm.duplicate();
  ASSERT_NE(twin, nullptr);
  EXPECT_EQ(twin->rank(), comm.rank());
  EXPECT_EQ(twin->size(), comm.size());
  EXPECT_EQ(twin->backend(), comm.backend());
  std::vector<float> first(kCount, 1.0F);
  std::vector<float> second(kCount, 2.0F);
  Work one = comm.all_reduce(first.data(), first.data(), kCount, DType::f32, ReduceOp::sum);
  Work two = twin->all_reduce(second.data(), second.data(), kCount, DType::f32, ReduceOp::sum);
  two.wait();
  one.wait();
  EXPECT_EQ(first[0], static_cast<float>(comm.size()));
  EXPECT_EQ(second[0], 2.0F * static_cast<float>(comm.size()));
}

void barrier_holds_everybody(Communicator& comm) {
  for (int i = 0; i < 20; ++i) {
    comm.barrier();
  }
}

void bad_arguments_are_refused(Communicator& comm) {
  float value = 0;
  std::uint16_t word = 0;
  EXPECT_THROW(comm.broadcast(&value, 1, DType::f32, comm.size()).wait(), ArgumentError);
  EXPECT_THROW(comm.broadcast(&value, 1, DType::f32, -1).wait(), ArgumentError);
  EXPECT_THROW(comm.all_reduce(&word, &word, 1, DType::u16, ReduceOp::sum).wait(), ArgumentError);
  EXPECT_THROW(comm.reduce_scatter(&word, &word, 1, DType::u16, ReduceOp::sum).wait(),
               ArgumentError);
  comm.barrier();
}

}  // namespace

std::vector<CommunicatorCase> work_cases() {
  return {{"test_becomes_true", test_becomes_true},
          {"dropped_work_is_finished", dropped_work_is_finished},
          {"moved_work_is_finished_once", moved_work_is_finished_once},
          {"operations_overlap", operations_overlap},
          {"duplicate_is_independent", duplicate_is_independent},
          {"barrier_holds_everybody", barrier_holds_everybody},
          {"bad_arguments_are_refused", bad_arguments_are_refused}};
}

}  // namespace sherd::contract
