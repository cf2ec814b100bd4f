#include "sherd/nn/init.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "nn/philox.hpp"
#include "sherd/base/error.hpp"

namespace sherd::nn {
namespace {

using testing::Each;
using testing::ElementsAre;

std::vector<double> values(const InitSpec& spec, std::int64_t first, std::int64_t count,
                           DType dtype = DType::f64, std::uint64_t seed = 7,
                           std::string_view name = "layers.0.weight") {
  const Tensor out = Tensor::empty({count}, dtype);
  fill_initial(spec, seed, name, first, out);
  const Tensor wide = to_dtype(out, DType::f64);
  return {wide.span<double>().begin(), wide.span<double>().end()};
}

/// The known answers published with the algorithm.
TEST(Philox, KnownAnswers) {
  EXPECT_THAT(philox({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U));
  constexpr std::uint32_t kOnes = 0xffffffffU;
  EXPECT_THAT(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
              ElementsAre(0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU));
  EXPECT_THAT(
      philox({0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}, {0xa4093822U, 0x299f31d0U}),
      ElementsAre(0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U));
}

TEST(FillInitial, AnyCutGivesTheSameValues) {
  for (const InitSpec& spec : {InitSpec::normal(0.02), InitSpec::uniform(0.5)}) {
    const auto whole = values(spec, 0, 37);
    for (std::int64_t cut = 0; cut <= 37; ++cut) {
      auto parts = values(spec, 0, cut);
      const auto rest = values(spec, cut, 37 - cut);
      parts.insert(parts.end(), rest.begin(), rest.end());
      EXPECT_EQ(parts, whole) << "cut at " << cut;
    }
  }
}

TEST(FillInitial, FarElementsDifferFromNearOnes) {
  const std::int64_t far = std::int64_t{1} << 34;  // beyond 32 bits of block number
  EXPECT_NE(values(InitSpec::normal(1.0), far, 4), values(InitSpec::normal(1.0), 0, 4));
}

TEST(FillInitial, DependsOnSeedAndName) {
  const InitSpec spec = InitSpec::normal(1.0);
  const auto base = values(spec, 0, 8, DType::f64, 1, "a");
  EXPECT_NE(values(spec, 0, 8, DType::f64, 2, "a"), base);
  EXPECT_NE(values(spec, 0, 8, DType::f64, 1, "b"), base);
  EXPECT_EQ(values(spec, 0, 8, DType::f64, 1, "a"), base);
}

TEST(FillInitial, SinglePrecisionIsTheDoubleValueRounded) {
  const auto wide = values(InitSpec::normal(0.02), 3, 50);
  const auto narrow = values(InitSpec::normal(0.02), 3, 50, DType::f32);
  for (std::size_t i = 0; i < wide.size(); ++i) {
    EXPECT_EQ(narrow[i], static_cast<double>(static_cast<float>(wide[i])));
  }
}

struct Moments {
  double mean = 0.0, variance = 0.0, fourth = 0.0, neighbours = 0.0;
};

Moments moments(const std::vector<double>& sample) {
  Moments m;
  const auto n = static_cast<double>(sample.size());
  for (const double x : sample) {
    m.mean += x / n;
  }
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double d = sample[i] - m.mean;
    m.variance += d * d / n;
    m.fourth += d * d * d * d / n;
    m.neighbours += i == 0 ? 0.0 : d * (sample[i - 1] - m.mean) / n;
  }
  return m;
}

TEST(FillInitial, NormalValuesHaveNormalMoments) {
  const Moments m = moments(values(InitSpec::normal(2.0), 0, 200000));
  EXPECT_NEAR(m.mean, 0.0, 0.02);
  EXPECT_NEAR(std::sqrt(m.variance), 2.0, 0.02);
  EXPECT_NEAR(m.fourth / (m.variance * m.variance), 3.0, 0.1);
  EXPECT_NEAR(m.neighbours / m.variance, 0.0, 0.01);
}

TEST(FillInitial, UniformValuesFillTheirRange) {
  const auto sample = values(InitSpec::uniform(3.0), 0, 200000);
  const auto [low, high] = std::minmax_element(sample.begin(), sample.end());
  EXPECT_GE(*low, -3.0);
  EXPECT_LE(*high, 3.0);
  EXPECT_LT(*low, -2.99);
  EXPECT_GT(*high, 2.99);
  EXPECT_NEAR(moments(sample).variance, 3.0, 0.03);
}

TEST(FillInitial, ConstantsAndNothing) {
  EXPECT_THAT(values(InitSpec::zeros(), 5, 9), Each(0.0));
  EXPECT_THAT(values(InitSpec::ones(), 5, 9, DType::f32), Each(1.0));
  EXPECT_TRUE(values(InitSpec::normal(1.0), 5, 0).empty());
}

TEST(FillInitial, RefusesWhatItCannotFill) {
  EXPECT_THROW(values(InitSpec::ones(), -1, 2), ArgumentError);
  EXPECT_THROW(values(InitSpec::ones(), 0, 2, DType::bf16), ArgumentError);
}

}  // namespace
}  // namespace sherd::nn
