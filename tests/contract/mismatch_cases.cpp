#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "contract/communicator_contract.hpp"
#include "sherd/base/error.hpp"

namespace sherd::contract {
namespace {

using comm::Communicator;
using comm::ReduceOp;
using testing::HasSubstr;

constexpr std::size_t kCount = 100;

struct Buffers {
  explicit Buffers(const Communicator& comm)
      : shard(2 * kCount), full(2 * kCount * static_cast<std::size_t>(comm.size())) {}
  std::vector<float> shard;
  std::vector<float> full;
};

/// The last rank does `odd`, the others `usual`: every rank must get a CommError that names both,
/// and the communicator refuses to work afterwards.
void expect_both_named(Communicator& given,
                       const std::function<void(Communicator&, Buffers&)>& usual,
                       const std::function<void(Communicator&, Buffers&)>& odd,
                       const char* usual_text, const char* odd_text) {
  const auto comm = given.duplicate();
  Buffers buffers(*comm);
  const int last = comm->size() - 1;
  std::string message;
  try {
    comm->rank() == last ? odd(*comm, buffers) : usual(*comm, buffers);
  } catch (const CommError& error) {
    message = error.what();
  }
  EXPECT_THAT(message, HasSubstr(usual_text));
  EXPECT_THAT(message, HasSubstr("rank " + std::to_string(last) + " issued " + odd_text));
  EXPECT_THROW(comm->barrier(), CommError);
  given.barrier();
}

void gather(Communicator& comm, Buffers& b) {
  comm.all_gather(b.shard.data(), b.full.data(), kCount, DType::f32).wait();
}

void other_operation(Communicator& comm) {
  expect_both_named(
      comm, gather,
      [](Communicator& c, Buffers& b) {
        c.reduce_scatter(b.full.data(), b.shard.data(), kCount, DType::f32, ReduceOp::sum).wait();
      },
      "all_gather of 100 x f32", "reduce_scatter of 100 x f32 (sum)");
}

void other_count(Communicator& comm) {
  expect_both_named(
      comm, gather,
      [](Communicator& c, Buffers& b) {
        c.all_gather(b.shard.data(), b.full.data(), kCount + 1, DType::f32).wait();
      },
      "all_gather of 100 x f32", "all_gather of 101 x f32");
}

void other_dtype(Communicator& comm) {
  expect_both_named(
      comm, gather,
      [](Communicator& c, Buffers& b) {
        c.all_gather(b.shard.data(), b.full.data(), kCount, DType::i32).wait();
      },
      "all_gather of 100 x f32", "all_gather of 100 x i32");
}

void barrier_against_large_operation(Communicator& comm) {
  expect_both_named(
      comm,
      [](Communicator& c, Buffers&) {
        std::vector<float> large(1U << 20);
        c.all_reduce(large.data(), large.data(), large.size(), DType::f32, ReduceOp::max).wait();
      },
      [](Communicator& c, Buffers&) { c.barrier(); }, "all_reduce of 1048576 x f32 (max)",
      "barrier");
}

void other_root(Communicator& comm) {
  expect_both_named(
      comm,
      [](Communicator& c, Buffers& b) { c.broadcast(b.shard.data(), 7, DType::f32, 0).wait(); },
      [](Communicator& c, Buffers& b) { c.broadcast(b.shard.data(), 7, DType::f32, 1).wait(); },
      "broadcast of 7 x f32 from rank 0", "broadcast of 7 x f32 from rank 1");
}

}  // namespace

const std::vector<CommunicatorCase>& mismatch_cases() {
  static const std::vector<CommunicatorCase> cases{
      {"other_operation", other_operation},
      {"other_count", other_count},
      {"other_dtype", other_dtype},
      {"barrier_against_large_operation", barrier_against_large_operation},
      {"other_root", other_root}};
  return cases;
}

}  // namespace sherd::contract
