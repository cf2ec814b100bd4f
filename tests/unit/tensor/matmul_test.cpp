#include "sherd/tensor/kernel/matmul.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "sherd/base/error.hpp"
#include "unit/tensor/values.hpp"

namespace sherd::kernel {
namespace {

using test::random;
using test::Values;
using test::values_of;

struct Case {
  DType in;
  DType out;
  bool trans_a, trans_b, accumulate;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& [in, out] :
       {std::pair{DType::f32, DType::f32}, std::pair{DType::f32, DType::bf16},
        std::pair{DType::bf16, DType::f32}, std::pair{DType::bf16, DType::bf16},
        std::pair{DType::f32, DType::f16}, std::pair{DType::f16, DType::f32},
        std::pair{DType::f16, DType::f16}, std::pair{DType::f64, DType::f64}}) {
    for (int bits = 0; bits < 8; ++bits) {
      all.push_back({in, out, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0});
    }
  }
  return all;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return std::string(to_string(c.in)) + "_" + std::string(to_string(c.out)) +
         (c.trans_a ? "_ta" : "") + (c.trans_b ? "_tb" : "") + (c.accumulate ? "_acc" : "");
}

Values reference(const Values& a, bool ta, const Values& b, bool tb, Values c, std::size_t m,
                 std::size_t n, std::size_t k, bool accumulate) {
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = accumulate ? c[i * n + j] : 0;
      for (std::size_t l = 0; l < k; ++l) {
        sum += a[ta ? l * m + i : i * k + l] * b[tb ? j * k + l : l * n + j];
      }
      c[i * n + j] = sum;
    }
  }
  return c;
}

Transpose transpose(bool yes) { return yes ? Transpose::yes : Transpose::no; }

class MatmulTest : public testing::TestWithParam<Case> {
 protected:
  static void check(std::int64_t m, std::int64_t n, std::int64_t k) {
    const Case& c = GetParam();
    const Tensor a = random(c.trans_a ? Shape{k, m} : Shape{m, k}, c.in, 1);
    const Tensor b = random(c.trans_b ? Shape{n, k} : Shape{k, n}, c.in, 2);
    const Tensor out = random(Shape{m, n}, c.out, 3);
    const Values expected =
        reference(values_of(a), c.trans_a, values_of(b), c.trans_b, values_of(out),
                  static_cast<std::size_t>(m), static_cast<std::size_t>(n),
                  static_cast<std::size_t>(k), c.accumulate);
    matmul(a, transpose(c.trans_a), b, transpose(c.trans_b), out,
           c.accumulate ? Write::accumulate : Write::overwrite);
    // One rounding to the result's type, and k of the accumulation, which cancel in part.
    const double accumulation = rounding(test::compute_of(c.in)) * std::sqrt(double(k) + 1) * 8;
    test::expect_close(out, expected, 1.01 * test::rounding(c.out) + accumulation);
  }
  static double rounding(DType dtype) { return test::rounding(dtype); }
};
INSTANTIATE_TEST_SUITE_P(Cases, MatmulTest, testing::ValuesIn(cases()), case_name);

TEST_P(MatmulTest, AgreesWithTheDefinition) {
  for (const auto& [m, n, k] :
       {std::array{1, 1, 1}, std::array{3, 5, 7}, std::array{16, 16, 16}, std::array{33, 17, 65},
        std::array{1, 64, 129}, std::array{70, 1, 9}, std::array{64, 96, 300}}) {
    check(m, n, k);
  }
}

TEST_P(MatmulTest, RowsOfTwoKibibytes) { check(512, 512, 5); }

TEST_P(MatmulTest, ZeroExtents) {
  for (const auto& [m, n, k] :
       {std::array{0, 4, 5}, std::array{4, 0, 5}, std::array{3, 4, 0}, std::array{0, 0, 0}}) {
    check(m, n, k);
  }
}

TEST_P(MatmulTest, TwiceGivesTheSameBits) {
  const Case& c = GetParam();
  const Tensor a = random(c.trans_a ? Shape{96, 48} : Shape{48, 96}, c.in, 4);
  const Tensor b = random(c.trans_b ? Shape{40, 96} : Shape{96, 40}, c.in, 5);
  const Tensor first = random(Shape{48, 40}, c.out, 6);
  const Tensor second = first.clone();
  for (const Tensor& out : {first, second}) {
    matmul(a, transpose(c.trans_a), b, transpose(c.trans_b), out,
           c.accumulate ? Write::accumulate : Write::overwrite);
  }
  EXPECT_TRUE(test::same_bits(first, second));
}

TEST(MatmulRowsTest, RowsOfAQuarterEqualThoseOfTheWhole) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const Tensor a = random(Shape{256, 128}, dtype, 7);
    const Tensor b = random(Shape{96, 128}, dtype, 8);
    const Tensor whole = Tensor::empty(Shape{256, 96}, dtype);
    matmul(a, Transpose::no, b, Transpose::yes, whole);
    const Tensor part = Tensor::empty(Shape{64, 96}, dtype);
    matmul(a.slice(64 * 128, 64 * 128).reshape(Shape{64, 128}), Transpose::no, b, Transpose::yes,
           part);
    EXPECT_TRUE(test::same_bits(part, whole.slice(64 * 96, 64 * 96)));
  }
}

TEST(MatmulValuesTest, NanAndInfinityReachTheResult) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
    const Tensor a = test::make(Shape{2, 2}, dtype, {test::kNan, 1, 1, test::kInf});
    const Tensor b = test::make(Shape{2, 1}, dtype, {1, 1});
    const Tensor c = Tensor::empty(Shape{2, 1}, dtype);
    matmul(a, Transpose::no, b, Transpose::no, c);
    EXPECT_TRUE(std::isnan(values_of(c)[0]));
    EXPECT_EQ(values_of(c)[1], test::kInf);
  }
}

TEST(MatmulValuesTest, F16OverflowsToInfinityAndKeepsSubnormals) {
  const Tensor a = test::make(Shape{3, 2}, DType::f16, {300, 0, -300, 0, 0, 0x1p-14});
  const Tensor b = test::make(Shape{2, 1}, DType::f16, {300, 0x1p-10});
  const Tensor c = Tensor::empty(Shape{3, 1}, DType::f16);
  matmul(a, Transpose::no, b, Transpose::no, c);
  EXPECT_EQ(values_of(c), (Values{test::kInf, -test::kInf, 0x1p-24}));
  const Tensor wide = Tensor::empty(Shape{3, 1}, DType::f32);
  matmul(a, Transpose::no, b, Transpose::no, wide);
  EXPECT_EQ(values_of(wide), (Values{90000, -90000, 0x1p-24}));
}

TEST(MatmulThreadsTest, ThreadsMayMultiplyAtOnce) {
  const Tensor a = random(Shape{40, 56}, DType::f32, 9);
  const Tensor b = random(Shape{56, 24}, DType::f32, 10);
  const Tensor alone = Tensor::empty(Shape{40, 24}, DType::f32);
  matmul(a, Transpose::no, b, Transpose::no, alone);
  std::vector<Tensor> results(4);
  {
    std::vector<std::jthread> threads;
    for (Tensor& result : results) {
      threads.emplace_back([&] {
        result = Tensor::empty(Shape{40, 24}, DType::f32);
        for (int i = 0; i < 20; ++i) {
          matmul(a, Transpose::no, b, Transpose::no, result);
        }
      });
    }
  }
  for (const Tensor& result : results) {
    EXPECT_TRUE(test::same_bits(result, alone));
  }
}

TEST(MatmulShapesTest, ManyShapesInARow) {
  for (std::int64_t m = 1; m <= 600; ++m) {  // more than a thread keeps primitives for
    const Tensor a = Tensor::zeros(Shape{m, 2}, DType::f32);
    const Tensor c = Tensor::empty(Shape{m, 1}, DType::f32);
    matmul(a, Transpose::no, Tensor::zeros(Shape{2, 1}, DType::f32), Transpose::no, c);
    ASSERT_EQ(c.data<float>()[m - 1], 0.0F);
  }
}

TEST(MatmulRecordTest, RecordsWhileAsked) {
  const Tensor a = random(Shape{2, 3}, DType::f32, 1);
  const Tensor b = random(Shape{4, 3}, DType::f32, 2);
  const Tensor c = Tensor::empty(Shape{2, 4}, DType::f32);
  std::vector<MatmulRecord> records;
  EXPECT_EQ(record_matmuls(&records), nullptr);
  matmul(a, Transpose::no, b, Transpose::yes, c);
  EXPECT_EQ(record_matmuls(nullptr), &records);
  matmul(a, Transpose::no, b, Transpose::yes, c);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].m, 2);
  EXPECT_EQ(records[0].n, 4);
  EXPECT_EQ(records[0].k, 3);
  EXPECT_EQ(records[0].trans_b, Transpose::yes);
  EXPECT_EQ(records[0].c.raw(), c.raw());
}

TEST(MatmulArgumentsTest, RejectsWhatDoesNotFit) {
  const Tensor a = random(Shape{2, 3}, DType::f32, 1);
  const Tensor b = random(Shape{3, 4}, DType::f32, 2);
  const Tensor c = Tensor::empty(Shape{2, 4}, DType::f32);
  EXPECT_THROW(matmul(a, Transpose::yes, b, Transpose::no, c), ArgumentError);
  EXPECT_THROW(matmul(a, Transpose::no, b, Transpose::no, Tensor::empty(Shape{2, 3}, DType::f32)),
               ArgumentError);
  EXPECT_THROW(matmul(a, Transpose::no, to_dtype(b, DType::bf16), Transpose::no, c), ArgumentError);
  EXPECT_THROW(matmul(a.reshape(Shape{6}), Transpose::no, b, Transpose::no, c), ArgumentError);
  const Tensor ids = test::make_i32({1, 2, 3, 4}).reshape(Shape{2, 2});
  EXPECT_THROW(matmul(ids, Transpose::no, ids, Transpose::no, c), ArgumentError);
  EXPECT_THROW(matmul(a, Transpose::no, b, Transpose::no, Tensor::empty(Shape{2, 4}, DType::f64)),
               ArgumentError);
}

TEST(MatmulImplementationTest, IsNeverTheReferenceLoop) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const std::string name = matmul_implementation(dtype);
    EXPECT_FALSE(name.empty());
    EXPECT_EQ(name.find("ref"), std::string::npos) << name;
  }
  EXPECT_FALSE(matmul_implementation(DType::f64).empty());
  EXPECT_THROW(static_cast<void>(matmul_implementation(DType::i32)), ArgumentError);
}

}  // namespace
}  // namespace sherd::kernel
