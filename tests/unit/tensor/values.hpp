#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "sherd/tensor/kernel/path.hpp"
#include "sherd/tensor/tensor.hpp"
#include "tensor/kernel/isa.hpp"

namespace sherd::test {

using Values = std::vector<double>;

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

inline Values random_values(std::int64_t count, unsigned seed, double scale = 1.0) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> uniform(-scale, scale);
  Values values(static_cast<std::size_t>(count));
  for (double& value : values) {
    value = uniform(engine);
  }
  return values;
}

inline Tensor make(const Shape& shape, DType dtype, const Values& values) {
  Tensor wide = Tensor::empty(shape, DType::f64);
  EXPECT_EQ(static_cast<std::size_t>(wide.numel()), values.size());
  std::copy(values.begin(), values.end(), wide.data<double>());
  return to_dtype(wide, dtype);
}

inline Tensor random(const Shape& shape, DType dtype, unsigned seed, double scale = 1.0) {
  return make(shape, dtype, random_values(shape.numel(), seed, scale));
}

inline Tensor make_i32(const std::vector<std::int32_t>& values) {
  Tensor tensor = Tensor::empty(Shape{static_cast<std::int64_t>(values.size())}, DType::i32);
  std::copy(values.begin(), values.end(), tensor.data<std::int32_t>());
  return tensor;
}

inline Values values_of(const Tensor& tensor) {
  const Tensor wide = to_dtype(tensor, DType::f64);
  return {wide.data<double>(), wide.data<double>() + wide.numel()};
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.nbytes() == b.nbytes() && a.dtype() == b.dtype() &&
         (a.nbytes() == 0 || std::memcmp(a.raw(), b.raw(), a.nbytes()) == 0);
}

/// The largest relative error of one rounding to the dtype.
inline double rounding(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-53;
    case DType::f32:
      return 0x1p-24;
    case DType::f16:
      return 0x1p-11;
    default:
      return 0x1p-8;
  }
}
inline DType compute_of(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

/// |actual - expected| <= bound * max(|expected|, floor), and NaN only where NaN is expected.
inline void expect_close(const Tensor& actual, const Values& expected, double bound,
                         double floor = 1.0) {
  const Values got = values_of(actual);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      ASSERT_TRUE(std::isnan(got[i])) << "element " << i << " is " << got[i];
      continue;
    }
    const double allowed = bound * std::max(std::fabs(expected[i]), floor);
    ASSERT_LE(std::fabs(got[i] - expected[i]), allowed)
        << "element " << i << ": " << got[i] << " where " << expected[i] << " is expected";
  }
}

/// Checks d(loss)/d(input) against central differences; `loss` reads the tensor it is given.
inline void expect_gradient(const Tensor& input, const Tensor& gradient,
                            const std::function<double()>& loss, double bound = 1e-6) {
  constexpr double kStep = 1e-5;
  double* x = input.data<double>();
  const Values analytic = values_of(gradient);
  for (std::size_t i = 0; i < analytic.size(); ++i) {
    const double kept = x[i];
    x[i] = kept + kStep;
    const double above = loss();
    x[i] = kept - kStep;
    const double below = loss();
    x[i] = kept;
    const double numeric = (above - below) / (2 * kStep);
    ASSERT_NEAR(analytic[i], numeric, bound * std::max(1.0, std::fabs(numeric))) << "element " << i;
  }
}

/// Sum of elementwise products: a loss whose gradient with respect to `a` is `b`.
inline double inner(const Tensor& a, const Tensor& b) {
  const Values x = values_of(a);
  const Values y = values_of(b);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += x[i] * y[i];
  }
  return sum;
}

/// One way to run a kernel: element type, driver, and instruction set of the host driver.
struct Way {
  DType dtype;
  kernel::Path path;
  kernel::Isa isa;
};

inline std::string way_name(const testing::TestParamInfo<Way>& info) {
  const char* isa[] = {"baseline", "v3", "v4"};
  const bool kokkos = info.param.path == kernel::Path::kokkos;
  return std::string(to_string(info.param.dtype)) + "_" +
         (kokkos ? "kokkos" : isa[static_cast<int>(info.param.isa)]);
}

/// Limits the host driver to the way's instruction set for the length of a test. On a CPU without
/// it the best available one runs again.
class KernelTest : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override { kernel::limit_host_isa(GetParam().isa); }
  void TearDown() override { kernel::limit_host_isa(kernel::Isa::v4); }

  [[nodiscard]] DType dtype() const { return GetParam().dtype; }
  [[nodiscard]] DType compute() const { return compute_of(GetParam().dtype); }
  [[nodiscard]] kernel::Path path() const { return GetParam().path; }
  /// A bound for one rounding to the dtype plus `units` roundings of the compute type.
  [[nodiscard]] double bound(double units) const {
    return 1.01 * rounding(dtype()) + units * rounding(compute());
  }
};

inline std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
    ways.push_back({dtype, kernel::Path::kokkos, kernel::Isa::v4});
    for (const kernel::Isa isa : {kernel::Isa::baseline, kernel::Isa::v3, kernel::Isa::v4}) {
      ways.push_back({dtype, kernel::Path::host, isa});
    }
  }
  return ways;
}

}  // namespace sherd::test

#define SHERD_EVERY_WAY(suite)                                                      \
  class suite : public sherd::test::KernelTest {};                                  \
  INSTANTIATE_TEST_SUITE_P(Ways, suite, testing::ValuesIn(sherd::test::all_ways()), \
                           sherd::test::way_name)
