#pragma once

#include <memory>

#include "sherd/nn/module.hpp"

namespace sherd::second_family {

/// y = (x - mean) / sqrt(var + eps) * weight + bias over the last dimension; f32 and bf16.
class LayerNorm : public nn::Module {
 public:
  LayerNorm(std::int64_t dim, double eps);
  [[nodiscard]] nn::Variable forward(const nn::Variable& x) override;

 private:
  double eps_;
  nn::Variable weight_;
  nn::Variable bias_;
};

}  // namespace sherd::second_family
