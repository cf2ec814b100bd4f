#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "contract/cases.hpp"
#include "contract/elements.hpp"
#include "sherd/base/half.hpp"

namespace sherd::contract {
namespace {

using comm::Communicator;
using comm::ReduceOp;

std::string trace(const char* what, std::size_t count, DType dtype, bool in_place) {
  return std::string(what) + " count " + std::to_string(count) + " " +
         std::string(to_string(dtype)) + (in_place ? " in place" : "");
}

/// Index of the first element that is not `expected(i)`, or count.
template <class Expected>
std::size_t first_wrong(const Elements& elements, std::size_t begin, std::size_t count,
                        const Expected& expected) {
  const bool repeats = elements.repeats(begin, count);
  for (std::size_t i = 0; i < (repeats ? std::min(count, kPeriod) : count); ++i) {
    if (elements.get(begin + i) != expected(i)) {
      return i;
    }
  }
  return count;
}

template <class Body>
void for_all_shapes(Communicator& comm, const Body& body) {
  for (const DType dtype : reducible_dtypes()) {
    for (const std::size_t count : counts_for(comm.size(), dtype)) {
      body(count, dtype, false);
      body(count, dtype, true);
    }
  }
}

void gather(Communicator& comm, std::size_t count, DType dtype, bool in_place) {
  SCOPED_TRACE(trace("all_gather", count, dtype, in_place));
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto me = static_cast<std::size_t>(comm.rank());
  Elements shard(count, dtype, comm.rank());
  Elements full(count * ranks, dtype);
  if (in_place && count != 0) {
    std::memcpy(full.at(me * count), shard.data(), count * size_of(dtype));
  }
  comm.all_gather(in_place ? full.at(me * count) : shard.data(), full.data(), count, dtype).wait();
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto expected = [&](std::size_t i) { return value_of(static_cast<int>(r), i); };
    ASSERT_EQ(first_wrong(full, r * count, count, expected), count) << "piece " << r;
  }
  EXPECT_TRUE(full.guards_untouched() && shard.guards_untouched());
}

void scatter(Communicator& comm, std::size_t count, DType dtype, bool in_place, ReduceOp op) {
  SCOPED_TRACE(trace("reduce_scatter", count, dtype, in_place));
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto mine = static_cast<std::size_t>(comm.rank()) * count;
  Elements full(count * ranks, dtype, comm.rank());
  Elements shard(count, dtype);
  comm.reduce_scatter(full.data(), in_place ? full.at(mine) : shard.data(), count, dtype, op)
      .wait();
  const auto expected = [&](std::size_t i) { return reduced(comm.size(), mine + i, op); };
  ASSERT_EQ(
      in_place ? first_wrong(full, mine, count, expected) : first_wrong(shard, 0, count, expected),
      count);
  EXPECT_TRUE(full.guards_untouched() && shard.guards_untouched());
}

void reduce(Communicator& comm, std::size_t count, DType dtype, bool in_place, ReduceOp op) {
  SCOPED_TRACE(trace("all_reduce", count, dtype, in_place));
  Elements in(count, dtype, comm.rank());
  Elements out(count, dtype);
  comm.all_reduce(in.data(), in_place ? in.data() : out.data(), count, dtype, op).wait();
  const auto expected = [&](std::size_t i) { return reduced(comm.size(), i, op); };
  ASSERT_EQ(first_wrong(in_place ? in : out, 0, count, expected), count);
  EXPECT_TRUE(in.guards_untouched() && out.guards_untouched());
}

void all_gather_gathers(Communicator& comm) {
  for_all_shapes(comm, [&](std::size_t count, DType dtype, bool in_place) {
    gather(comm, count, dtype, in_place);
  });
}

void all_gather_moves_u16(Communicator& comm) { gather(comm, 1000, DType::u16, false); }

void reduce_scatter_sums(Communicator& comm) {
  for_all_shapes(comm, [&](std::size_t count, DType dtype, bool in_place) {
    scatter(comm, count, dtype, in_place, ReduceOp::sum);
  });
}

void reduce_scatter_takes_extremes(Communicator& comm) {
  for (const DType dtype : reducible_dtypes()) {
    scatter(comm, 1000, dtype, false, ReduceOp::max);
    scatter(comm, 1000, dtype, true, ReduceOp::min);
  }
}

void all_reduce_sums(Communicator& comm) {
  for_all_shapes(comm, [&](std::size_t count, DType dtype, bool in_place) {
    reduce(comm, count, dtype, in_place, ReduceOp::sum);
  });
}

void all_reduce_takes_extremes(Communicator& comm) {
  for (const DType dtype : reducible_dtypes()) {
    reduce(comm, 1000, dtype, true, ReduceOp::max);
    reduce(comm, 10007, dtype, false, ReduceOp::min);
  }
}

void broadcast_reaches_all(Communicator& comm) {
  for (const DType dtype : reducible_dtypes()) {
    for (const std::size_t count : counts_for(comm.size(), dtype)) {
      const int root = static_cast<int>(count) % comm.size();
      SCOPED_TRACE(trace("broadcast", count, dtype, true));
      Elements data(count, dtype, comm.rank());
      comm.broadcast(data.data(), count, dtype, root).wait();
      const auto expected = [&](std::size_t i) { return value_of(root, i); };
      ASSERT_EQ(first_wrong(data, 0, count, expected), count);
    }
  }
}

/// 1 + N * 2^-9 is lost when each addition is rounded to bf16 and kept when the sum is rounded
/// once.
template <class T>
void rounds_once(Communicator& comm, float step) {
  const std::size_t count = 1000;
  std::vector<T> in(count, T(comm.rank() == 0 ? 1.0F : step));
  comm.all_reduce(in.data(), in.data(), count, dtype_of<T>, ReduceOp::sum).wait();
  float sum = 1.0F;
  for (int rank = 1; rank < comm.size(); ++rank) {
    sum += step;
  }
  EXPECT_EQ(static_cast<float>(in[count - 1]), static_cast<float>(T(sum)));
}

void half_sums_are_rounded_once(Communicator& comm) {
  rounds_once<BFloat16>(comm, 0x1p-9F);
  rounds_once<Float16>(comm, 0x1p-12F);
}

/// Values whose sum depends on the order: all ranks must still get the same bits.
void results_are_the_same_on_all_ranks(Communicator& comm) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  for (const std::size_t count : {std::size_t{100}, std::size_t{50000}}) {
    std::vector<float> sum(count);
    for (std::size_t i = 0; i < count; ++i) {
      sum[i] = 1.0F / static_cast<float>(3 + i % 977 + 7 * static_cast<std::size_t>(comm.rank()));
    }
    comm.all_reduce(sum.data(), sum.data(), count, DType::f32, ReduceOp::sum).wait();
    std::vector<float> all(count * ranks);
    comm.all_gather(sum.data(), all.data(), count, DType::f32).wait();
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(all[i], sum[i % count]) << i;
    }
  }
}

}  // namespace

std::vector<CommunicatorCase> collective_cases() {
  return {{"all_gather_gathers", all_gather_gathers},
          {"all_gather_moves_u16", all_gather_moves_u16},
          {"reduce_scatter_sums", reduce_scatter_sums},
          {"reduce_scatter_takes_extremes", reduce_scatter_takes_extremes},
          {"all_reduce_sums", all_reduce_sums},
          {"all_reduce_takes_extremes", all_reduce_takes_extremes},
          {"broadcast_reaches_all", broadcast_reaches_all},
          {"half_sums_are_rounded_once", half_sums_are_rounded_once},
          {"results_are_the_same_on_all_ranks", results_are_the_same_on_all_ranks}};
}

}  // namespace sherd::contract
