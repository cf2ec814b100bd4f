#include "sherd/nn/layers.hpp"

#include "sherd/autograd/functional.hpp"

namespace sherd::nn {

Linear::Linear(std::int64_t in, std::int64_t out, bool bias, double stddev)
    : weight_(register_parameter("weight", {out, in}, InitSpec::normal(stddev))) {
  if (bias) {
    bias_ = register_parameter("bias", {out}, InitSpec::zeros());
  }
}

Variable Linear::forward(const Variable& x) { return autograd::linear(x, weight_, bias_); }

TiedLinear::TiedLinear(Variable weight) : weight_(std::move(weight)) {
  register_shared("weight", weight_, InitSpec::zeros());
}

Variable TiedLinear::forward(const Variable& x) { return autograd::linear(x, weight_); }

RMSNorm::RMSNorm(std::int64_t dim, double eps)
    : eps_(eps), weight_(register_parameter("weight", {dim}, InitSpec::ones())) {}

Variable RMSNorm::forward(const Variable& x) { return autograd::rms_norm(x, weight_, eps_); }

Embedding::Embedding(std::int64_t rows, std::int64_t dim, double stddev)
    : weight_(register_parameter("weight", {rows, dim}, InitSpec::normal(stddev))) {}

Variable Embedding::forward(const Variable& ids) {
  return autograd::embedding(weight_, ids.data());
}

}  // namespace sherd::nn
