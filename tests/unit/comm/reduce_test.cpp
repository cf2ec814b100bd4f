#include "comm/reduce/reduce.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "sherd/base/error.hpp"
#include "sherd/base/half.hpp"
#include "sherd/runtime/team.hpp"

namespace sherd {
namespace {

using comm::reduce;
using comm::ReduceOp;

template <class T>
std::vector<std::vector<T>> random_inputs(std::size_t ranks, std::size_t count) {
  std::minstd_rand random(7);
  std::uniform_real_distribution<float> uniform(-100.0F, 100.0F);
  std::vector<std::vector<T>> inputs(ranks, std::vector<T>(count));
  for (auto& input : inputs) {
    for (T& value : input) {
      value = T(uniform(random));
    }
  }
  return inputs;
}

template <class T>
std::vector<const void*> pointers(const std::vector<std::vector<T>>& inputs) {
  std::vector<const void*> result;
  for (const auto& input : inputs) {
    result.push_back(input.data());
  }
  return result;
}

template <class T, class A>
void expect_rank_order_sum(std::size_t ranks, std::size_t count) {
  const auto inputs = random_inputs<T>(ranks, count);
  std::vector<T> out(count);
  reduce(out.data(), pointers(inputs), count, dtype_of<T>, ReduceOp::sum);
  for (std::size_t i = 0; i < count; ++i) {
    A sum = static_cast<A>(inputs[0][i]);
    for (std::size_t r = 1; r < ranks; ++r) {
      sum += static_cast<A>(inputs[r][i]);
    }
    ASSERT_EQ(static_cast<A>(out[i]), static_cast<A>(T(sum))) << ranks << " ranks, element " << i;
  }
}

TEST(Reduce, AddsInRankOrderAndRoundsOnce) {
  for (const std::size_t ranks : {1U, 2U, 3U, 5U, 8U}) {
    for (const std::size_t count : {0U, 1U, 17U, 1024U, 5003U}) {
      expect_rank_order_sum<float, float>(ranks, count);
      expect_rank_order_sum<double, double>(ranks, count);
      expect_rank_order_sum<BFloat16, float>(ranks, count);
      expect_rank_order_sum<Float16, float>(ranks, count);
    }
  }
}

TEST(Reduce, PastTheCachesIsTheSame) {
  const auto inputs = random_inputs<BFloat16>(3, 30011);
  std::vector<BFloat16> usual(30011);
  std::vector<BFloat16> streamed(30011);
  reduce(usual.data(), pointers(inputs), usual.size(), DType::bf16, ReduceOp::sum);
  reduce(streamed.data(), pointers(inputs), usual.size(), DType::bf16, ReduceOp::sum,
         comm::Destination::memory);
  for (std::size_t i = 0; i < usual.size(); ++i) {
    ASSERT_EQ(usual[i].bits, streamed[i].bits) << i;
  }
}

TEST(Reduce, OutMayBeOneOfTheInputs) {
  for (const std::size_t ranks : {2U, 4U}) {
    for (std::size_t target = 0; target < ranks; ++target) {
      std::vector<std::vector<std::int32_t>> inputs(ranks, std::vector<std::int32_t>(3000, 2));
      reduce(inputs[target].data(), pointers(inputs), 3000, DType::i32, ReduceOp::sum);
      EXPECT_EQ(inputs[target][2999], static_cast<std::int32_t>(2 * ranks));
    }
  }
}

TEST(Reduce, IntegersWrap) {
  const std::vector<std::vector<std::int32_t>> inputs{{std::numeric_limits<std::int32_t>::max()},
                                                      {1}};
  std::int32_t out = 0;
  reduce(&out, pointers(inputs), 1, DType::i32, ReduceOp::sum);
  EXPECT_EQ(out, std::numeric_limits<std::int32_t>::min());
  const std::vector<std::vector<std::uint8_t>> bytes{{200}, {100}, {1}};
  std::uint8_t byte = 0;
  reduce(&byte, pointers(bytes), 1, DType::u8, ReduceOp::sum);
  EXPECT_EQ(byte, 45);
}

TEST(Reduce, TakesExtremes) {
  const std::vector<std::vector<std::int64_t>> inputs{{3, -5}, {-7, 9}, {1, 1}};
  std::vector<std::int64_t> out(2);
  reduce(out.data(), pointers(inputs), 2, DType::i64, ReduceOp::max);
  EXPECT_EQ(out, (std::vector<std::int64_t>{3, 9}));
  reduce(out.data(), pointers(inputs), 2, DType::i64, ReduceOp::min);
  EXPECT_EQ(out, (std::vector<std::int64_t>{-7, -5}));
}

TEST(Reduce, NeedsNoAlignment) {
  std::vector<std::byte> a(4 * 101 + 2);
  std::vector<std::byte> b(4 * 101 + 2);
  auto* first = reinterpret_cast<BFloat16*>(a.data() + 2);
  auto* second = reinterpret_cast<BFloat16*>(b.data());
  std::fill_n(first, 200, BFloat16(1.5F));
  std::fill_n(second, 200, BFloat16(2.0F));
  const std::vector<const void*> inputs{first, second};
  reduce(first, inputs, 200, DType::bf16, ReduceOp::sum);
  EXPECT_EQ(static_cast<float>(first[199]), 3.5F);
}

TEST(Reduce, RefusesWhatCannotBeAdded) {
  std::uint16_t word = 0;
  const std::vector<const void*> inputs{&word, &word};
  EXPECT_THROW(reduce(&word, inputs, 1, DType::u16, ReduceOp::sum), ArgumentError);
}

TEST(Reduce, ByATeamGivesTheSameBits) {
  const auto inputs = random_inputs<float>(3, 100'003);
  runtime::Team team({3, {}, false});
  for (const auto destination : {comm::Destination::caches, comm::Destination::memory}) {
    std::vector<float> one(inputs[0].size()), many(one.size(), -1.0F);
    const auto sum = [&](std::vector<float>& out) {
      reduce(out.data(), pointers(inputs), out.size(), DType::f32, ReduceOp::sum, destination);
    };
    sum(one);
    const runtime::TeamScope scope(&team);
    sum(many);
    EXPECT_EQ(one, many);
  }
}

}  // namespace
}  // namespace sherd
