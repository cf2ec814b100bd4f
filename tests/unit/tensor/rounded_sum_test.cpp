#include <gtest/gtest.h>

#include "sherd/base/error.hpp"
#include "sherd/tensor/kernel/optimizer.hpp"
#include "unit/tensor/values.hpp"

namespace sherd::kernel {
namespace {

using test::random;
using test::Values;
using test::values_of;

constexpr DType kNarrow[] = {DType::f32, DType::bf16, DType::f16};
constexpr std::int64_t kCount = 4113;

float round_to(float value, DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return static_cast<float>(BFloat16(value));
    case DType::f16:
      return static_cast<float>(Float16(value));
    default:
      return value;
  }
}

/// The definition, an element at a time; exact, so results must have its bits.
Values expected_sum(const std::vector<Tensor>& sources, DType rounded, const Tensor& dst,
                    bool accumulate) {
  Values result = values_of(dst);
  std::vector<Values> parts;
  for (const Tensor& source : sources) {
    parts.push_back(values_of(source));
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    float sum = static_cast<float>(parts[0][i]);
    for (std::size_t s = 1; s < parts.size(); ++s) {
      sum += static_cast<float>(parts[s][i]);
    }
    sum = round_to(sum, rounded);
    const double wide = accumulate ? result[i] + static_cast<double>(sum) : sum;
    const float narrow = accumulate ? static_cast<float>(result[i]) + sum : sum;
    result[i] = dst.dtype() == DType::f64 ? wide : round_to(narrow, dst.dtype());
  }
  return result;
}

TEST(RoundedSum, EveryCombinationOfTypesAgreesWithTheDefinition) {
  for (const DType from : kNarrow) {
    const std::vector<Tensor> sources{random(Shape{kCount}, from, 1),
                                      random(Shape{kCount}, from, 2),
                                      random(Shape{kCount}, from, 3)};
    for (const DType rounded : kNarrow) {
      for (const DType to : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
        for (const bool accumulate : {false, true}) {
          const Tensor dst = random(Shape{kCount}, to, 9);
          const Values expected = expected_sum(sources, rounded, dst, accumulate);
          const GradStats stats = sum_rounded_sources(sources, rounded, dst, accumulate);
          ASSERT_EQ(values_of(dst), expected)
              << to_string(from) << ' ' << to_string(rounded) << ' ' << to_string(to);
          EXPECT_EQ(stats.sum_of_squares, grad_stats(dst).sum_of_squares);
          EXPECT_EQ(stats.nonfinite, 0);
        }
      }
    }
  }
}

TEST(RoundedSum, SourcesMayDifferInType) {
  const std::vector<Tensor> sources{random(Shape{kCount}, DType::f32, 1),
                                    random(Shape{kCount}, DType::bf16, 2),
                                    random(Shape{kCount}, DType::f16, 3)};
  const Tensor dst = random(Shape{kCount}, DType::f32, 4);
  const Values expected = expected_sum(sources, DType::bf16, dst, true);
  sum_rounded_sources(sources, DType::bf16, dst, true);
  EXPECT_EQ(values_of(dst), expected);
}

TEST(RoundedSum, AllInF32HasTheBitsOfSumSources) {
  for (const std::size_t count : {0U, 1U, 2U, 5U}) {
    std::vector<Tensor> sources;
    for (std::size_t s = 0; s < count; ++s) {
      sources.push_back(random(Shape{kCount}, DType::f32, unsigned(s)));
    }
    for (const bool accumulate : {false, true}) {
      const Tensor plain = random(Shape{kCount}, DType::f32, 99);
      const Tensor rounded = plain.clone();
      const GradStats expected = sum_sources(sources, plain, accumulate);
      const GradStats stats = sum_rounded_sources(sources, DType::f32, rounded, accumulate);
      EXPECT_TRUE(test::same_bits(rounded, plain)) << count;
      EXPECT_EQ(stats.sum_of_squares, expected.sum_of_squares);
    }
  }
}

TEST(RoundedSum, EveryInstructionSetGivesTheSameBits) {
  const std::vector<Tensor> sources{random(Shape{kCount}, DType::f16, 1),
                                    random(Shape{kCount}, DType::f16, 2)};
  std::vector<Tensor> results;
  for (const Isa isa : {Isa::baseline, Isa::v3, Isa::v4}) {
    limit_host_isa(isa);
    results.push_back(random(Shape{kCount}, DType::bf16, 3));
    sum_rounded_sources(sources, DType::f16, results.back(), true);
  }
  EXPECT_TRUE(test::same_bits(results[1], results[0]));
  EXPECT_TRUE(test::same_bits(results[2], results[0]));
}

TEST(RoundedSum, OverflowOfTheNarrowTypeIsCounted) {
  const std::vector<Tensor> sources(2, test::make(Shape{3}, DType::f16, {40000, -40000, 1}));
  const Tensor dst = Tensor::zeros(Shape{3}, DType::f32);
  EXPECT_EQ(sum_rounded_sources(sources, DType::f16, dst, true).nonfinite, 2);
  EXPECT_EQ(values_of(dst), (Values{test::kInf, -test::kInf, 2}));
  EXPECT_EQ(sum_rounded_sources(sources, DType::f32, dst, false).nonfinite, 0);
  EXPECT_EQ(values_of(dst), (Values{80000, -80000, 2}));
}

TEST(RoundedSum, RejectsWhatDoesNotFit) {
  const Tensor f = Tensor::zeros(Shape{4}, DType::f32);
  const std::vector<Tensor> fits{f}, shorter{Tensor::zeros(Shape{3}, DType::f32)};
  const std::vector<Tensor> wide{Tensor::zeros(Shape{4}, DType::f64)};
  EXPECT_THROW(sum_rounded_sources(shorter, DType::f32, f, false), ArgumentError);
  EXPECT_THROW(sum_rounded_sources(wide, DType::f32, f, false), ArgumentError);
  EXPECT_THROW(sum_rounded_sources(fits, DType::f64, f, false), ArgumentError);
  EXPECT_THROW(sum_rounded_sources(fits, DType::f32, test::make_i32({1, 2, 3, 4}), false),
               ArgumentError);
}

TEST(NarrowInPlace, HoldsTheRoundedValuesAtTheSameAddress) {
  for (const DType to : kNarrow) {
    for (const std::int64_t count : {0, 1, 5, 4096, 4097, 12289}) {
      const Tensor whole = random(Shape{count + 3}, DType::f32, 5);
      const Tensor from = whole.slice(1, count);
      const Tensor after = whole.slice(count + 1, 2).clone();
      const Tensor expected = to_dtype(from, to);
      const Tensor narrowed = narrow_in_place(from, to);
      EXPECT_EQ(narrowed.raw(), from.raw());
      EXPECT_TRUE(test::same_bits(narrowed, expected)) << to_string(to) << ' ' << count;
      EXPECT_TRUE(test::same_bits(whole.slice(count + 1, 2), after));
    }
  }
}

TEST(NarrowInPlace, KeepsTheMemoryAlive) {
  Tensor from = random(Shape{100}, DType::f32, 6);
  const Tensor expected = to_dtype(from, DType::bf16);
  const Tensor narrowed = narrow_in_place(from, DType::bf16);
  from = Tensor();
  const Tensor other = random(Shape{100}, DType::f32, 7);  // would take the same block
  EXPECT_TRUE(test::same_bits(narrowed, expected));
}

TEST(NarrowInPlace, RejectsWhatDoesNotFit) {
  const Tensor f = Tensor::zeros(Shape{4}, DType::f32);
  EXPECT_THROW(static_cast<void>(narrow_in_place(f, DType::f64)), ArgumentError);
  EXPECT_THROW(static_cast<void>(narrow_in_place(f.reshape(Shape{2, 2}), DType::bf16)),
               ArgumentError);
  EXPECT_THROW(static_cast<void>(narrow_in_place(Tensor::zeros(Shape{4}, DType::f16), DType::bf16)),
               ArgumentError);
}

}  // namespace
}  // namespace sherd::kernel
