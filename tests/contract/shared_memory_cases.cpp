#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <thread>

#include "contract/communicator_contract.hpp"
#include "sherd/base/dtype.hpp"

namespace sherd::contract {
namespace {

using comm::Communicator;
using comm::ReduceOp;

/// Gives the core away a random number of times: moves the ranks against each other.
class RandomDelay {
 public:
  explicit RandomDelay(int rank) : random_(static_cast<unsigned>(rank) + 17U) {}
  void operator()() {
    for (auto n = random_() % 8; n > 0; --n) {
      std::this_thread::yield();
    }
  }

 private:
  std::minstd_rand random_;
};

template <class T>
std::span<T> as(comm::SharedRegion& region) {
  return {reinterpret_cast<T*>(region.bytes().data()), region.bytes().size() / sizeof(T)};
}

void region_is_zero_aligned_and_shared(Communicator& comm) {
  for (const std::size_t words : {std::size_t{0}, std::size_t{1}, std::size_t{600000}}) {
    const auto region = comm.allocate_shared(words * 8);
    ASSERT_NE(region, nullptr);
    ASSERT_EQ(region->bytes().size(), words * 8);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region->bytes().data()) % 4096, 0U);
    const auto data = as<std::uint64_t>(*region);
    EXPECT_TRUE(std::all_of(data.begin(), data.end(), [](std::uint64_t v) { return v == 0; }));
    comm.barrier();
    const auto ranks = static_cast<std::size_t>(comm.size());
    for (std::size_t i = static_cast<std::size_t>(comm.rank()); i < words; i += ranks) {
      data[i] = i + 1;
    }
    comm.barrier();
    for (std::size_t i = 0; i < words; ++i) {
      ASSERT_EQ(data[i], i + 1);
    }
    comm.barrier();
  }
}

/// Each rank writes its piece, posts, waits for all, reads all pieces, posts that it has read; many
/// rounds. A half-written or overwritten piece shows as a wrong value.
void epochs_order_writes_and_reads(Communicator& comm) {
  constexpr std::size_t kWords = 512;
  constexpr std::uint64_t kRounds = 200;
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto me = static_cast<std::size_t>(comm.rank());
  const auto region = comm.allocate_shared(ranks * kWords * 8);
  const auto board = comm.make_epoch_board(3);
  ASSERT_NE(board, nullptr);
  const auto data = as<std::uint64_t>(*region);
  RandomDelay delay(comm.rank());
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    board->wait_all(2, round - 1, "the readers of the last round");
    delay();
    std::fill_n(data.begin() + static_cast<std::ptrdiff_t>(me * kWords), kWords, round * 100 + me);
    delay();
    board->post(1, round);
    board->wait_all(1, round, "the writers");
    EXPECT_TRUE(board->test_all(1, round));
    for (std::size_t i = 0; i < data.size(); ++i) {
      ASSERT_EQ(data[i], round * 100 + i / kWords);
    }
    delay();
    board->post(2, round);
  }
  EXPECT_EQ(board->read(0, comm.rank()), 0U);
  EXPECT_EQ(board->read(1, comm.rank()), kRounds);
  EXPECT_FALSE(board->test_all(1, kRounds + 1));
  comm.barrier();
}

std::vector<std::size_t> in_place_counts() { return {1, 1000, 40001}; }

/// All ranks gather into one and the same buffer; nobody may write to it after the call.
void gather_into_one_buffer(Communicator& comm) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto me = static_cast<std::size_t>(comm.rank());
  RandomDelay delay(comm.rank());
  for (const std::size_t count : in_place_counts()) {
    const auto region = comm.allocate_shared(ranks * count * 4);
    const auto full = as<std::int32_t>(*region);
    for (std::int32_t round = 1; round <= 20; ++round) {
      std::int32_t* mine = full.data() + me * count;
      std::fill_n(mine, count, round * 10 + comm.rank());
      delay();
      comm.all_gather(mine, full.data(), count, DType::i32).wait();
      for (std::size_t i = 0; i < full.size(); ++i) {
        ASSERT_EQ(full[i], round * 10 + static_cast<std::int32_t>(i / count));
      }
      comm.barrier();
    }
  }
}

/// Every rank has a buffer of its own in shared memory: the others read it in place, and the call
/// returns only when they have.
void collectives_on_own_buffers_in_shared_memory(Communicator& comm) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto me = static_cast<std::size_t>(comm.rank());
  RandomDelay delay(comm.rank());
  for (const std::size_t count : in_place_counts()) {
    const auto region = comm.allocate_shared(ranks * ranks * count * 4);
    const auto mine = as<std::int32_t>(*region).subspan(me * ranks * count, ranks * count);
    std::vector<std::int32_t> shard(count);
    for (std::int32_t round = 1; round <= 10; ++round) {
      std::fill(mine.begin(), mine.end(), round + comm.rank());
      delay();
      comm.reduce_scatter(mine.data(), shard.data(), count, DType::i32, ReduceOp::sum).wait();
      const std::int32_t sum =
          comm.size() * round + static_cast<std::int32_t>(ranks * (ranks - 1) / 2);
      ASSERT_EQ(shard.front(), sum);
      ASSERT_EQ(shard.back(), sum);
      std::fill(mine.begin(), mine.end(), -1);
      std::fill_n(mine.begin() + static_cast<std::ptrdiff_t>(me * count), count, comm.rank());
      delay();
      comm.all_gather(mine.data() + me * count, mine.data(), count, DType::i32).wait();
      for (std::size_t i = 0; i < mine.size(); ++i) {
        ASSERT_EQ(mine[i], static_cast<std::int32_t>(i / count));
      }
    }
  }
}

/// One rank's buffer is shared, the others' are not: all must take the same way.
void mixed_buffers(Communicator& comm) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const std::size_t count = 20011;
  const auto region = comm.allocate_shared(ranks * count * 4);
  std::vector<std::int32_t> own(ranks * count);
  std::int32_t* full = comm.rank() == 0 ? as<std::int32_t>(*region).data() : own.data();
  const std::vector<std::int32_t> shard(count, comm.rank() + 1);
  comm.all_gather(shard.data(), full, count, DType::i32).wait();
  for (std::size_t i = 0; i < ranks * count; ++i) {
    ASSERT_EQ(full[i], static_cast<std::int32_t>(i / count) + 1);
  }
  std::vector<std::int32_t> sum(count);
  comm.reduce_scatter(full, sum.data(), count, DType::i32, ReduceOp::sum).wait();
  EXPECT_EQ(sum.back(), comm.size() * (comm.rank() + 1));
}

}  // namespace

const std::vector<CommunicatorCase>& shared_memory_cases() {
  static const std::vector<CommunicatorCase> cases{
      {"region_is_zero_aligned_and_shared", region_is_zero_aligned_and_shared},
      {"epochs_order_writes_and_reads", epochs_order_writes_and_reads},
      {"gather_into_one_buffer", gather_into_one_buffer},
      {"collectives_on_own_buffers_in_shared_memory", collectives_on_own_buffers_in_shared_memory},
      {"mixed_buffers", mixed_buffers}};
  return cases;
}

}  // namespace sherd::contract
