#pragma once

#include "sherd/nn/module.hpp"

namespace sherd::nn {

/// y = x W^T (+ b). weight [out, in]; initial weights normal(stddev), bias zeros.
class Linear : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, bool bias = true, double stddev = 0.02);
  [[nodiscard]] Variable forward(const Variable& x) override;
  [[nodiscard]] const Variable& weight() const noexcept { return weight_; }
  [[nodiscard]] const Variable& bias() const noexcept { return bias_; }

 private:
  Variable weight_;
  Variable bias_;
};

/// Linear whose weight is another module's (a tied head).
class TiedLinear : public Module {
 public:
  explicit TiedLinear(Variable weight);
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  Variable weight_;
};

class RMSNorm : public Module {
 public:
  RMSNorm(std::int64_t dim, double eps);
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  double eps_;
  Variable weight_;
};

/// Input: i32 ids.
class Embedding : public Module {
 public:
  Embedding(std::int64_t rows, std::int64_t dim, double stddev = 0.02);
  [[nodiscard]] Variable forward(const Variable& ids) override;
  [[nodiscard]] const Variable& weight() const noexcept { return weight_; }

 private:
  Variable weight_;
};

}  // namespace sherd::nn
