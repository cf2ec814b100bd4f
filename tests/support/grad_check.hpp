#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "sherd/autograd/function.hpp"
#include "sherd/autograd/functional.hpp"

namespace sherd::test {

using autograd::Variable;

/// Reproducible values in (-1, 1).
inline Tensor random_tensor(Shape shape, std::uint64_t seed, DType dtype = DType::f64) {
  const Tensor values = Tensor::empty(std::move(shape), DType::f64);
  std::mt19937_64 engine(seed);
  for (double& value : values.span<double>()) {
    value = static_cast<double>(engine() >> 11) * 0x1p-52 - 1.0;
  }
  return dtype == DType::f64 ? values : to_dtype(values, dtype);
}

/// Reproducible ids in [0, limit).
inline Tensor random_ids(Shape shape, std::int32_t limit, std::uint64_t seed) {
  const Tensor ids = Tensor::empty(std::move(shape), DType::i32);
  std::mt19937_64 engine(seed);
  for (std::int32_t& id : ids.span<std::int32_t>()) {
    id = static_cast<std::int32_t>(engine() % static_cast<std::uint64_t>(limit));
  }
  return ids;
}

inline double dot(const Tensor& a, const Tensor& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.span<double>().size(); ++i) {
    sum += a.span<double>()[i] * b.span<double>()[i];
  }
  return sum;
}

/// The same bits under the same shape and type.
inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         std::equal(a.raw(), a.raw() + a.nbytes(), b.raw());
}

using DifferentiableFunction = std::function<Variable(const std::vector<Variable>&)>;

/// Compares backward() with central differences in f64, for a random direction of the result. Then
/// once more with every input a recorded result that the function uses twice, so that the second
/// contribution must be added to the first. Inputs are leaves that want gradients.
class GradientCheck {
 public:
  GradientCheck(DifferentiableFunction function, std::vector<Tensor> inputs)
      : function_(std::move(function)) {
    for (Tensor& input : inputs) {
      inputs_.emplace_back(std::move(input), true);
    }
    direction_ = random_tensor(function_(inputs_).shape(), 99);
  }

  void run(double tolerance = 1e-7) {
    autograd::backward(function_(inputs_), direction_.clone());
    compare(1.0, tolerance);
    std::vector<Variable> results;
    for (Variable& input : inputs_) {
      input.clear_grad();
      results.push_back(autograd::reshape(input, input.shape()));
    }
    autograd::backward(autograd::add(function_(results), function_(results)), direction_.clone());
    compare(2.0, tolerance);
  }

 private:
  void compare(double factor, double tolerance) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      ASSERT_TRUE(inputs_[i].grad_written()) << "input " << i;
      const auto gradient = inputs_[i].grad().span<double>();
      for (std::size_t j = 0; j < gradient.size(); ++j) {
        const double expected = factor * difference_quotient(i, j);
        ASSERT_NEAR(gradient[j], expected, tolerance * (1.0 + std::abs(expected)))
            << "input " << i << " element " << j;
      }
    }
  }

  double difference_quotient(std::size_t input, std::size_t element) {
    constexpr double kStep = 1e-5;
    double& value = inputs_[input].data().span<double>()[element];
    const double original = value;
    value = original + kStep;
    const double above = evaluate();
    value = original - kStep;
    const double below = evaluate();
    value = original;
    return (above - below) / (2.0 * kStep);
  }

  double evaluate() {
    const autograd::GradMode off(false);
    return dot(function_(inputs_).data(), direction_);
  }

  DifferentiableFunction function_;
  std::vector<Variable> inputs_;
  Tensor direction_;
};

inline void check_gradients(DifferentiableFunction function, std::vector<Tensor> inputs,
                            double tolerance = 1e-7) {
  GradientCheck(std::move(function), std::move(inputs)).run(tolerance);
}

}  // namespace sherd::test
