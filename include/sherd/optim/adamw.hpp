#pragma once

#include "sherd/optim/optimizer.hpp"

namespace sherd::optim {

struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  Decay decay = Decay::all;  ///< `matrices`: parameters of rank 2 and more only
};

/// Adam with decoupled weight decay (Loshchilov and Hutter 2019, arXiv 1711.05101), one fused pass
/// a shard. State: exp_avg, exp_avg_sq.
class AdamW : public Optimizer {
 public:
  explicit AdamW(ShardedParameters& parameters, AdamWOptions options = {});
  [[nodiscard]] std::string_view name() const noexcept override { return "adamw"; }

 private:
  void update(std::size_t index, std::int64_t begin, std::int64_t count, bool decay) override;

  AdamWOptions options_;
};

}  // namespace sherd::optim
