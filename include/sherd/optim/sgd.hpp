#pragma once

#include "sherd/optim/optimizer.hpp"

namespace sherd::optim {

struct SgdOptions {
  double learning_rate = 1e-2;
  double momentum = 0.0;
  double weight_decay = 0.0;
  Decay decay = Decay::all;
};

/// Stochastic gradient descent with momentum (PyTorch's form). State: momentum_buffer when
/// momentum is not zero.
class Sgd : public Optimizer {
 public:
  explicit Sgd(ShardedParameters& parameters, SgdOptions options = {});
  [[nodiscard]] std::string_view name() const noexcept override { return "sgd"; }

 private:
  void update(std::size_t index, std::int64_t begin, std::int64_t count, bool decay) override;

  SgdOptions options_;
};

}  // namespace sherd::optim
