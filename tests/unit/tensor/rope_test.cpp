#include "sherd/tensor/kernel/rope.hpp"

#include <gtest/gtest.h>

#include "sherd/base/error.hpp"
#include "unit/tensor/values.hpp"

namespace sherd::kernel {
namespace {

using test::random;
using test::Values;
using test::values_of;

SHERD_EVERY_WAY(RopeTest);

struct Sizes {
  std::int64_t batch, heads, seq, head_dim;
  [[nodiscard]] Shape rows() const { return {batch * seq, heads * head_dim}; }
  [[nodiscard]] Shape packed() const { return {batch, heads, seq, head_dim}; }
};

constexpr Sizes kSizes[] = {{2, 3, 5, 8}, {1, 1, 1, 2}, {0, 2, 3, 4}, {2, 2, 0, 4}, {3, 2, 9, 34}};

/// The rotation as complex multiplication of (first half, second half).
Values reference(const Values& x, const Sizes& s, double theta, bool rotate) {
  Values y(x.size());
  const std::int64_t half = s.head_dim / 2;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      for (std::int64_t p = 0; p < s.seq; ++p) {
        for (std::int64_t i = 0; i < half; ++i) {
          const auto from = std::size_t((b * s.seq + p) * s.heads + h) * std::size_t(s.head_dim);
          const auto to = std::size_t((b * s.heads + h) * s.seq + p) * std::size_t(s.head_dim);
          const double angle =
              rotate ? double(p) * std::pow(theta, -2.0 * double(i) / double(s.head_dim)) : 0;
          const double re = x[from + std::size_t(i)], im = x[from + std::size_t(i + half)];
          y[to + std::size_t(i)] = re * std::cos(angle) - im * std::sin(angle);
          y[to + std::size_t(i + half)] = im * std::cos(angle) + re * std::sin(angle);
        }
      }
    }
  }
  return y;
}

TEST_P(RopeTest, PackAgreesWithTheDefinition) {
  for (const Sizes& s : kSizes) {
    const RopeTables tables = make_rope_tables(s.seq + 3, s.head_dim, 10000, compute());
    const Tensor x = random(s.rows(), dtype(), 1);
    const Tensor y = Tensor::empty(s.packed(), dtype());
    rope_pack(x, &tables, y, path());
    test::expect_close(y, reference(values_of(x), s, 10000, true), bound(6));
    rope_pack(x, nullptr, y, path());
    test::expect_close(y, reference(values_of(x), s, 10000, false), 0);
  }
}

TEST_P(RopeTest, UnpackIsTheTranspose) {
  for (const Sizes& s : kSizes) {
    const RopeTables tables = make_rope_tables(s.seq, s.head_dim, 500, compute());
    for (const RopeTables* with : {static_cast<const RopeTables*>(nullptr), &tables}) {
      const Tensor x = random(s.rows(), dtype(), 1), dy = random(s.packed(), dtype(), 2);
      const Tensor dx = random(s.rows(), dtype(), 3);
      rope_unpack(dy, with, dx, Write::overwrite, path());
      const Values y = reference(values_of(x), s, 500, with != nullptr);
      // <pack(x), dy> = <x, unpack(dy)>
      double left = 0;
      for (std::size_t i = 0; i < y.size(); ++i) {
        left += y[i] * values_of(dy)[i];
      }
      EXPECT_NEAR(left, test::inner(x, dx), bound(6) * (8 + std::sqrt(double(y.size()))));
      const Tensor twice = dx.clone();
      rope_unpack(dy, with, twice, Write::accumulate, path());
      Values doubled = values_of(dx);
      for (double& value : doubled) {
        value *= 2;
      }
      test::expect_close(twice, doubled, 2 * bound(6));
    }
  }
}

TEST_P(RopeTest, UnpackUndoesPack) {
  const Sizes s{2, 3, 7, 16};
  const RopeTables tables = make_rope_tables(s.seq, s.head_dim, 10000, compute());
  const Tensor x = random(s.rows(), dtype(), 1);
  const Tensor y = Tensor::empty(s.packed(), dtype()), back = Tensor::empty(s.rows(), dtype());
  rope_pack(x, &tables, y, path());
  rope_unpack(y, &tables, back, Write::overwrite, path());
  test::expect_close(back, values_of(x), 3 * bound(6));
}

TEST(RopeArgumentsTest, RejectsWhatDoesNotFit) {
  const Tensor x = Tensor::zeros(Shape{6, 8}, DType::f32);
  const Tensor y = Tensor::zeros(Shape{2, 2, 3, 4}, DType::f32);
  const RopeTables tables = make_rope_tables(3, 4, 10000);
  EXPECT_NO_THROW(rope_pack(x, &tables, y));
  const RopeTables few = make_rope_tables(2, 4, 10000);
  EXPECT_THROW(rope_pack(x, &few, y), ArgumentError);
  const RopeTables wide = make_rope_tables(3, 8, 10000);
  EXPECT_THROW(rope_pack(x, &wide, y), ArgumentError);
  EXPECT_THROW(rope_pack(Tensor::zeros(Shape{6, 7}, DType::f32), &tables, y), ArgumentError);
  EXPECT_THROW(make_rope_tables(3, 5, 10000), ArgumentError);
}

}  // namespace
}  // namespace sherd::kernel
